"""The portal shows the credits and the ledger of an account."""

import re

import httpx
import pytest

from heliograph import wallet
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.wallet_pages.levels_plot import DAYS
from heliograph.wallet import ledger
from tests.support.factories import grant, open_account
from tests.support.portal.visitor import Visitor, home_of


def entries(visitor: Visitor, path: str) -> list[str]:
    """Returns the references of the entries on a page, in order."""
    return references_on(visitor.get(path))


def references_on(page: httpx.Response) -> list[str]:
    assert page.status_code == 200, page.text
    return re.findall(r"\bref-\d+\b", page.text)


def granted(db: Database, account_id: str, count: int) -> list[str]:
    """Grants credits so often, and returns the references, newest first."""
    references = [f"ref-{number}" for number in range(count)]
    for reference in references:
        with db.write() as tx:
            ledger.grant(tx, account_id, 7, "bought", reference=reference, now_ms=clock.now_ms())
    return references[::-1]


def test_a_wallet_shows_what_it_holds_and_how_it_came(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    references = granted(db, amina_id, 3)
    with db.write() as tx:
        ledger.topup(tx, amina_id, "12.50", "paid", now_ms=clock.now_ms())
        held = wallet.wallet_of(tx, amina_id).visible_figures
    assert entries(visitor, f"{home}/money") == references
    page = visitor.page.text
    assert f"{held.sms_credits:,}".replace(",", "\u202f") in page
    assert "12.50" in page
    assert entries(visitor, f"{home}/money?type=topup") == []
    assert "paid" in visitor.page.text


def test_every_entry_is_on_one_page_of_the_ledger(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    references = granted(db, amina_id, 25)
    pages = visitor.pages(f"{home}/money?type=credit_grant&limit=10")
    seen = [reference for page in pages for reference in references_on(page)]
    assert seen == references


@pytest.mark.parametrize("query", ["type=gift", "since=today", "limit=101", "x=1"])
def test_a_wrong_filter_is_told(visitor: Visitor, home: str, query: str) -> None:
    page = visitor.get(f"{home}/money?{query}")
    assert page.status_code == 400
    assert 'class="wrong"' in page.text


def test_an_account_sees_its_own_ledger_only(visitor: Visitor, db: Database, home: str) -> None:
    chidi = open_account(db, "chidi")
    grant(db, chidi, 5)
    granted(db, chidi, 2)
    assert entries(visitor, f"{home}/money") == []
    assert visitor.get(f"{home_of(db, chidi)}/money").status_code == 404


def test_the_plot_shows_what_was_left_each_day_and_a_file_has_its_figures(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert 'class="level"' not in visitor.get(f"{home}/money").text
    granted(db, amina_id, 1)
    with db.read() as tx:
        held = wallet.wallet_of(tx, amina_id)
    page = visitor.get(f"{home}/money").text
    assert page.count('class="level"') == DAYS
    lines = visitor.get(f"{home}/money/days/file").text.splitlines()
    assert lines[0] == "day,credits,money,currency"
    assert len(lines) == 1 + DAYS
    today = lines[-1].split(",")
    assert (int(today[1]), float(today[2]), today[3]) == (held.sms_credits, 0, held.currency)
    assert f"{held.sms_credits} credits</title>" in page
