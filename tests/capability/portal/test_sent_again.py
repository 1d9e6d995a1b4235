"""A form whose outcome nobody knows comes back, so that sending it again is the same operation."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from heliograph import connect, wallet
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database import database
from heliograph.database.database import Database
from heliograph.wallet import Figures, ledger, prices
from tests.support.factories import grant
from tests.support.portal.visitor import Visitor

on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
LETTERS = "4<b>\"'&ä"


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a lock be waited for once, for a second, and not five times."""
    monkeypatch.setattr(database, "CONFLICT_TRIES", 1)


@pytest.fixture
def rich(db: Database, amina_id: str) -> None:
    """Amina has 1,000 credits and 50.00 GHS; 100 credits are sold for 2.50 GHS."""
    grant(db, amina_id, 1_000)
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.50", 100)
        ledger.topup(tx, amina_id, "50", "paid", now_ms=clock.now_ms())


@contextmanager
def held_up(db: Database, account_id: str) -> Iterator[None]:
    """Lets somebody else have the wallet for longer than anybody waits for it."""
    with db.write() as tx:
        tx.execute(
            sa.text("SELECT 1 FROM wallets WHERE account_id = :it FOR UPDATE"), {"it": account_id}
        )
        yield


def figures_of(db: Database, account_id: str) -> Figures:
    with db.read() as tx:
        return wallet.wallet_of(tx, account_id).figures


def hidden(text: str) -> dict[str, str]:
    """Returns the fields of the first form of a page that nobody fills in."""
    [form] = re.findall(r"<form[^>]*>((?:(?!</form>).)*once.*?)</form>", text, re.DOTALL)
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found if name != "form_token"}


def sent_again(
    visitor: Visitor, db: Database, account_id: str, path: str, form: dict[str, str]
) -> dict[str, str]:
    """Sends a form while the wallet is held up, and returns the form that the answer has."""
    with held_up(db, account_id):
        refused = visitor.post(path, form)
    assert refused.status_code == 503, refused.text
    return hidden(refused.text)


@on_postgresql
@pytest.mark.usefixtures("rich")
def test_credits_are_bought_once_by_a_form_that_was_held_up(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = f"{home}/money/buy"
    form = hidden(visitor.get(path, params={"credits": "100"}).text)
    again = sent_again(visitor, db, amina_id, path, form)
    assert again == form
    for each in (again, form, again):
        assert visitor.post(path, each).status_code == 303
    assert figures_of(db, amina_id) == Figures(4_750, 1_100)


@on_postgresql
@pytest.mark.usefixtures("rich")
def test_credits_move_once_by_a_form_that_was_held_up(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    added = {"full_name": "Bilal", "phone": "0201234599", "country_code": "GH"}
    form = hidden(visitor.get(f"{home}/connect/new").text) | added
    path = visitor.post(f"{home}/connect/new", form).headers["location"]
    move = hidden(visitor.get(path).text) | {"credits": "40", "reference": LETTERS}
    again = sent_again(visitor, db, amina_id, path, move)
    assert again == move
    for each in (again, move):
        assert visitor.post(path, each).status_code == 303
    with db.read() as tx:
        [customer] = connect.page(tx, amina_id, PageWanted(9, None), sandbox=False)
    assert (customer.sms_credits, figures_of(db, amina_id).sms_credits) == (40, 960)


@on_postgresql
@pytest.mark.usefixtures("rich")
def test_a_form_that_is_done_each_time_does_not_come_back(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/money/low")
    with held_up(db, amina_id):
        form = {"low_balance_credits": "5", "low_balance_amount": ""}
        sent = {"form_token": visitor.token, **form}  # its page gives it no value of its own
        refused = visitor.post_as_it_is(f"{home}/money/low", data=sent)
    assert refused.status_code == 503
    assert "Send it again" not in refused.text
