"""What operators see of abuse in the console, and do about it."""

from heliograph import accounts, otp, users
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.console.operators import come_in, waiting_sender
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.visitor import Visitor

PATH = "/console/abuse"
DIGITS = "23320123"


def refused(db: Database) -> list[str]:
    with db.read() as tx:
        return [each.digits for each in otp.blocked(tx, clock.now_ms(), limit=9)]


def test_a_range_is_blocked_with_a_reason_and_let_go(
    visitor: Visitor, db: Database, amina: str
) -> None:
    come_in(visitor, db, OperatorRole.SUPPORT)
    assert "None is refused" in visitor.get(PATH).text
    form = {"account": "amina", "range": DIGITS, "reason": "pumping, says the carrier"}
    for name, wrong, why in (
        ("account", "nobody", "names none"),
        ("range", "2332", "must be the first 8 digits"),
        ("reason", "", "must have 1 to 255 characters"),
    ):
        page = visitor.post(f"{PATH}/block", {**form, name: wrong})
        assert page.status_code == 400
        assert why in page.text
    assert refused(db) == []
    assert visitor.post(f"{PATH}/block", form).status_code == 303
    assert refused(db) == [DIGITS]
    assert f"{DIGITS}…" in visitor.get(PATH).text
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, amina))
    there = {"account": account, "place": DIGITS}
    assert "amina" in visitor.get(f"{PATH}/unblock", params=there).text
    assert visitor.post(f"{PATH}/unblock", {**there, "reason": " "}).status_code == 400
    assert visitor.post(f"{PATH}/unblock", {**there, "reason": "verified"}).status_code == 303
    assert refused(db) == []
    assert visitor.get(f"{PATH}/unblock", params=there).status_code == 404
    with db.read() as tx:
        logged = users.operator_entries(tx, PageWanted(9, None))
        told = accounts.audited(tx, amina, PageWanted(9, None))
    assert [(each.entry.action, each.entry.after, each.entry.reason) for each in logged] == [
        ("otp.unblock", f"{DIGITS}: let through", "verified"),
        ("otp.block", f"{DIGITS}: refused", "pumping, says the carrier"),
    ]
    assert [each.entry.action for each in told] == ["otp.unblock", "otp.block"]


def test_sudden_volume_and_look_alikes_lead_to_their_accounts(
    visitor: Visitor, db: Database, amina: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    clock.move(by_ms=DAY_MS - clock.now_ms() % DAY_MS + 12 * HOUR_MS)
    come_in(visitor, db, OperatorRole.AUDITOR)
    empty = visitor.get(PATH).text
    assert "No account sends much more than usual" in empty
    assert "None looks like" in empty
    rolled_up(db, chidi, clock.now_ms() - DAY_MS, sent=700)
    rolled_up(db, chidi, clock.now_ms(), sent=1_234)
    waiting_sender(db, chidi, "AM1NA")
    page = visitor.get(PATH).text
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, chidi))
    assert page.count(f"/console/accounts/{account}") == 2
    for shown in ("1\u202f234", "12.3", "AM1NA", "AMINA of"):
        assert shown in page, shown
    assert "Block the range" not in page, "an auditor blocks nothing"
