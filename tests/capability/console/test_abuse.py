"""Operators see abuse in the console, and do something about it."""

import pytest

from heliograph import accounts, otp, users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.messages.reports import linked_hosts as linked
from heliograph.senders import reserved_names
from heliograph.users import OperatorRole
from tests.support.console.messages import stored_message
from tests.support.console.operators import sign_in_operator, waiting_sender
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.visitor import Visitor

PATH = "/console/abuse"
DIGITS = "23320123"


def refused(db: Database) -> list[str]:
    with db.read() as tx:
        return [each.digits for each in otp.find_blocked(tx, clock.now_ms(), limit=9)]


def test_a_range_is_blocked_with_a_reason_and_let_go(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert "None is refused" in visitor.get(PATH).text
    form = {"account": "amina", "range": DIGITS, "reason": "pumping, says the carrier"}
    for name, wrong, why in (
        ("account", "nobody", "was not found"),
        ("range", "2332", "must be the first 8 digits"),
        ("reason", "", "must have 1 to 255 characters"),
    ):
        page = visitor.post(f"{PATH}/block", {**form, name: wrong})
        assert page.status_code == 400
        assert why in page.text
    assert refused(db) == []
    assert visitor.post(f"{PATH}/block", form).status_code == 303
    assert refused(db) == [DIGITS]
    again = visitor.post(f"{PATH}/block", form).text
    said = f"The range {DIGITS} is blocked for this account already."
    assert f'<p class="notice calm" role="status">{said}</p>' in again, "nothing went wrong"
    assert 'class="wrong"' not in again
    assert f"{DIGITS}…" in visitor.get(PATH).text
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, amina_id))
    there = {"account": account, "place": DIGITS}
    assert "amina" in visitor.get(f"{PATH}/unblock", params=there).text
    assert visitor.post(f"{PATH}/unblock", {**there, "reason": " "}).status_code == 400
    assert visitor.post(f"{PATH}/unblock", {**there, "reason": "verified"}).status_code == 303
    assert refused(db) == []
    assert visitor.get(f"{PATH}/unblock", params=there).status_code == 404
    late = visitor.post(f"{PATH}/unblock", {**there, "reason": "another operator was faster"})
    assert late.status_code == 303
    assert "That was done already" in visitor.get(late.headers["location"]).text
    with db.read() as tx:
        logged = users.operator_entries(tx, PageWanted(9, None))
        told = audit_log.page(tx, amina_id, PageWanted(9, None))
    assert [(each.entry.action, each.entry.after, each.entry.reason) for each in logged] == [
        ("otp.unblock", f"{DIGITS}: let through", "verified"),
        ("otp.block", f"{DIGITS}: refused", "pumping, says the carrier"),
    ]
    assert [each.entry.action for each in told] == ["otp.unblock", "otp.block"]


def test_sudden_volume_and_look_alikes_lead_to_their_accounts(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    clock.move(by_ms=DAY_MS - clock.now_ms() % DAY_MS + 12 * HOUR_MS)
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
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


def test_links_are_shown_as_hosts_with_what_is_suspicious(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender="CHIDI")
    with db.write() as tx:
        reserved_names.add(tx, "Postbank", "a bank", now_ms=clock.now_ms())
    stored_message(db, chidi, text="A day ago: http://10.1.2.3/")
    clock.move(by_ms=DAY_MS + 1_000)
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert "No recent text has a link" in visitor.get(PATH).text
    for text in (
        "Pay at http://10.1.2.3/x?me=233201234567",
        "Pay at http://10.1.2.3/y",
        "bit.ly/3abc",
        "https://am1na-login.com",
        "www.p0st-bank.com and chidi.com",
    ):
        stored_message(db, chidi, text=text)
    newest = stored_message(db, amina_id, text="Order at amina.com").replace("msg_", "")
    stored_message(db, amina_id, text="http://10.9.9.9/", type="otp")
    stored_message(db, amina_id, text="http://10.9.9.9/", sandbox=True)
    stored_message(db, amina_id, text=None)
    page = visitor.get(PATH).text
    rows = [row for row in page.split("<tr>") if "[.]" in row]
    seen = [
        (host, "nothing" not in row, row.partition('data-name="Sends:">')[2].partition("<")[0])
        for row in rows
        for host in [row.partition("<strong>")[2].partition("<")[0]]
    ]
    assert seen == [
        ("10[.]1[.]2[.]3", True, "2"),
        ("am1na-login[.]com", True, "1"),
        ("bit[.]ly", True, "1"),
        ("www[.]p0st-bank[.]com", True, "1"),
        ("amina[.]com", False, "1"),
        ("chidi[.]com", False, "1"),
    ]
    for shown in ("an address instead", "hides where", "AMINA of", "Postbank, which is reserved"):
        assert shown in page, shown
    assert "3abc" not in page, "a host is shown, and no more of the text"
    assert f"/console/messages?q=snd_{newest[:20]}" in page
    assert "6 live texts were read, of the last 24 hours" in page


def test_who_reads_no_texts_sees_no_hosts(visitor: Visitor, db: Database, amina_id: str) -> None:
    stored_message(db, amina_id, text="bit.ly/3abc")
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    page = visitor.get(PATH).text
    assert "hides where it leads" in page
    assert "bit[.]ly" not in page


def test_no_more_than_the_newest_texts_are_read(
    db: Database, amina_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linked, "TEXTS_READ_MAX", 2)
    for host in ("first.com", "second.com", "third.com"):
        stored_message(db, amina_id, text=host, created_at_ms=len(host))
    with db.read() as tx:
        found = linked.linked_hosts(tx, clock.now_ms())
    assert [each.host for each in found.hosts] == ["second.com", "third.com"]
    assert (found.texts, found.since_ms) == (2, len("second.com"))
