"""The portal sells credits from a wallet, keeps thresholds, and makes a file."""

import csv
import html
import io
import re
from collections.abc import Callable

import pytest

from heliograph import wallet
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import Role
from heliograph.wallet import Figures, ledger, prices
from heliograph.wallet.wallet import Wallet
from tests.support.factories import grant, open_account
from tests.support.portal.hostile import forms_of
from tests.support.portal.visitor import EMAIL, Visitor

Held = Callable[[], Wallet]


@pytest.fixture
def held(db: Database, amina_id: str) -> Held:
    """Reads amina's wallet, which begins with 30.00 GHS; 100 credits are sold for 2.50 GHS."""
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.50", 100)
        ledger.topup(tx, amina_id, "30.00", "paid", now_ms=clock.now_ms())

    def read() -> Wallet:
        with db.read() as tx:
            return wallet.wallet_of(tx, amina_id)

    return read


def words(visitor: Visitor) -> str:
    """Returns the text of the last page as a person reads it."""
    text = re.sub(r"<[^>]+>", " ", html.unescape(visitor.page.text))
    return " ".join(text.split())


def offered(visitor: Visitor, home: str, credits: str) -> dict[str, str]:
    """Asks for the price of credits, and returns the fields of the form that buys them."""
    page = visitor.get(f"{home}/money/buy", params={"credits": credits})
    assert page.status_code == 200, page.text
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', page.text.split("bill")[0])
    return dict(hidden[-3:])


def test_a_price_is_shown_before_credits_are_bought(
    visitor: Visitor, held: Held, home: str
) -> None:
    form = offered(visitor, home, "1 001")
    assert (form["credits"], form["cost_minor"]) == ("1001", "2503")  # rounded up
    for said in ("1 001 SMS credits 25.03 GHS", "wallet 4.97 GHS", "you will have 1 001"):
        assert said in words(visitor)
    assert held().figures == Figures(3_000, 0)
    page = visitor.post(f"{home}/money/buy", form)
    assert (page.status_code, page.headers["location"]) == (303, f"{home}/money")
    assert held().figures == Figures(497, 1_001)
    visitor.get(f"{home}/money")
    assert "1001 SMS credits at 2.50 GHS per 100 +1 001 1 001 −25.03 GHS 4.97" in words(visitor)


def test_a_form_that_is_sent_twice_buys_once(visitor: Visitor, held: Held, home: str) -> None:
    form = offered(visitor, home, "100")
    assert [visitor.post(f"{home}/money/buy", form).status_code for _ in range(3)] == [303] * 3
    assert held().figures == Figures(2_750, 100)
    again = offered(visitor, home, "100")
    visitor.post(f"{home}/money/buy", again)
    assert held().figures == Figures(2_500, 200)
    changed = visitor.post(f"{home}/money/buy", {**again, "credits": "200", "cost_minor": "500"})
    assert changed.status_code == 409
    assert "This form was sent before, with something else in it." in changed.text
    without = {**again, "once": ""}
    assert visitor.post(f"{home}/money/buy", without).status_code == 400
    assert held().figures == Figures(2_500, 200)


def test_a_price_that_has_changed_meanwhile_buys_nothing(
    visitor: Visitor, db: Database, held: Held, home: str
) -> None:
    form = offered(visitor, home, "100")
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.60", 100)
    page = visitor.post(f"{home}/money/buy", form)
    assert page.status_code == 400
    assert "now cost 2.60 GHS" in page.text
    assert "Buy for 2.60 GHS" in page.text
    assert held().figures == Figures(3_000, 0)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("credits", "why"),
    [
        ("", "is required"),
        ("many", "must be an integer from 1 to 999999999999999, not 'many'"),
        ("0", "must be an integer from 1"),
        ("-5", "must be an integer from 1"),
        ("1.5", "must be an integer from 1"),
        ("9" * 15, "would cost"),
        ("9" * 40, "must be an integer from 1"),
        ("1201", "The wallet holds 30.00 GHS; this takes 30.03 GHS."),
    ],
)
def test_what_cannot_be_bought_is_told_at_its_field(
    visitor: Visitor, held: Held, home: str, credits: str, why: str
) -> None:
    page = visitor.get(f"{home}/money/buy", params={"credits": credits})
    assert page.status_code == 400
    assert 'id="credits-error"' in page.text
    assert why in html.unescape(page.text)
    assert 'value="' + credits in page.text
    form = {"credits": credits, "cost_minor": "3003", "once": "x"}
    assert visitor.post(f"{home}/money/buy", form).status_code == 400
    assert held().figures == Figures(3_000, 0)


def test_credits_are_not_sold_without_a_price(visitor: Visitor, home: str) -> None:
    page = visitor.get(f"{home}/money/buy?credits=100")
    assert page.status_code == 200
    assert "SMS credits are not sold for GHS here." in page.text


def test_credits_are_bought_by_owners_who_have_signed_in_of_late(
    visitor: Visitor,
    stranger: Visitor,
    held: Held,
    amina_id: str,
    home: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form = offered(visitor, home, "100")
    stranger.sign_in("dev@example.com", amina_id, Role.DEVELOPER)
    assert "Buy credits" not in stranger.get(f"{home}/money").text
    assert stranger.get(f"{home}/money/buy").status_code == 403
    stranger.get(f"{home}/money")
    assert stranger.post(f"{home}/money/buy", form).status_code == 403
    later_ms = clock.now_ms() + 11 * 60_000
    monkeypatch.setattr(clock, "now_ms", lambda: later_ms)
    assert "sign in" in visitor.post(f"{home}/money/buy", form).text.lower()
    assert held().figures == Figures(3_000, 0)
    assert "Confirm that it is you" in visitor.get(f"{home}/money/low").text
    never = {"low_balance_credits": "", "low_balance_amount": ""}
    assert visitor.post(f"{home}/money/low", never).status_code == 403
    assert held().low_balance_credits == 100


def test_thresholds_are_set_and_cleared(visitor: Visitor, held: Held, home: str) -> None:
    assert 'name="low_balance_credits" value="100"' in visitor.get(f"{home}/money/low").text
    path = f"{home}/money/low"
    fields = {"low_balance_credits": "2 500", "low_balance_amount": "40.5"}
    assert visitor.post(path, fields).status_code == 303
    now = held()
    assert (now.low_balance_credits, now.low_balance_amount_minor) == (2_500, 4_050)
    visitor.get(f"{home}/money")
    assert "30.00 GHS warned below 40.50 GHS" in words(visitor)
    assert visitor.page.text.count('class="note wrong"') == 2
    assert 'name="low_balance_amount" value="40.50"' in visitor.get(path).text
    assert visitor.post(path, dict.fromkeys(fields, "")).status_code == 303
    assert (held().low_balance_credits, held().low_balance_amount_minor) == (None, None)
    assert "warned below" not in visitor.get(f"{home}/money").text


def test_a_threshold_that_was_left_as_shown_stays_as_somebody_else_has_set_it(
    visitor: Visitor, db: Database, amina_id: str, held: Held, home: str
) -> None:
    path = f"{home}/money/low"
    [form] = (form for form in forms_of(visitor.get(path).text) if form.action == path)
    as_shown = form.hidden | {"low_balance_credits": "100", "low_balance_amount": ""}
    theirs, mine = {"low_balance_credits": "250"}, {"low_balance_amount": "40.5"}
    assert visitor.post(path, as_shown | theirs).status_code == 303
    assert visitor.post(path, as_shown | mine).status_code == 303
    assert (held().low_balance_credits, held().low_balance_amount_minor) == (250, 4_050)
    with db.read() as tx:
        stored = audit_log.page(tx, amina_id, PageWanted(2, None))
    assert [each.entry.detail for each in stored] == [
        "low_balance_amount: never → 40.50",
        "low_balance_credits: 100 → 250",
    ]


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("field", "typed", "why"),
    [
        ("low_balance_credits", "-1", "must be an integer from 0"),
        ("low_balance_credits", "few", "must be an integer from 0"),
        ("low_balance_amount", "1.234", "has more decimals than the 2 of GHS"),
        ("low_balance_amount", "some", "must be a number"),
        ("low_balance_amount", "-3", "must not be negative"),
    ],
)
def test_a_threshold_that_cannot_be_is_told_at_its_field(
    visitor: Visitor, held: Held, home: str, field: str, typed: str, why: str
) -> None:
    visitor.get(f"{home}/money/low")
    form = {"low_balance_credits": "7", "low_balance_amount": "7"} | {field: typed}
    page = visitor.post(f"{home}/money/low", form)
    assert page.status_code == 400
    assert why in page.text.partition(f'id="{field}-error"')[2]
    assert f'name="{field}" value="{typed}"' in page.text
    assert held().low_balance_credits == 100


def test_a_ledger_is_a_file_of_what_its_list_selects(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    held: Held,
    home: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("heliograph.wallet.files.ledger_file.PAGE", 3)
    chidi = open_account(db, "chidi")
    grant(db, chidi, 5)
    for number in range(10):
        with db.write() as tx:
            at_ms = clock.now_ms()
            ledger.grant(tx, amina_id, 7, "=1+1", reference=f"-{number}", now_ms=at_ms)
    page = visitor.get(f"{home}/money/export")
    assert page.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(page.text)))
    assert [row["credits_after"] for row in rows] == [str(7 * n) for n in range(10, 0, -1)] + ["0"]
    assert (rows[0]["description"], rows[0]["reference"]) == ("'=1+1", "'-9")
    assert (rows[-1]["type"], rows[-1]["amount"]) == ("topup", "30")
    for query, count in (("type=topup", 1), ("reference=-3", 1), ("until=2020-01-01T00:00:00Z", 0)):
        text = visitor.get(f"{home}/money/export?{query}").text
        assert len(text.splitlines()) == 1 + count, query
    assert visitor.get(f"{home}/money/export?type=gift").status_code == 400


def test_a_reference_narrows_the_ledger(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for reference in ("first", "second"):
        with db.write() as tx:
            ledger.grant(tx, amina_id, 7, f"the {reference}", reference, now_ms=clock.now_ms())
    page = visitor.get(f"{home}/money?reference=second")
    assert ("the first" in page.text, "the second" in page.text) == (False, True)
    assert EMAIL in page.text
