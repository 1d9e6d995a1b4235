"""Operators work in the console, and accounts see some of what they did."""

import re

import pytest

from heliograph import accounts, keys, senders, users
from heliograph.accounts import audit_log, status_history
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.console.navigation import APPROVALS
from heliograph.database.database import Database
from heliograph.senders import states
from heliograph.users import OperatorRole, two_step
from heliograph.users.sign_ins import FRESH_MS
from tests.support.console.looked_up import page_of
from tests.support.console.operators import (
    OPERATOR,
    account_in_sandbox,
    made_operator,
    sign_in_by_link,
    sign_in_operator,
    waiting_sender,
)
from tests.support.factories import SECRET_KEY, open_account
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes
from tests.support.portal.security_key import SecurityKey
from tests.support.portal.visitor import EMAIL, Visitor, home_of


def test_a_sender_id_is_approved_and_its_account_reads_so(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    sign_in_operator(visitor, db)
    listed = visitor.get("/console/approvals").text
    assert "AMINASHOP" in listed
    assert "Order updates" in listed
    path = f"/console/approvals/senders/{sender}"
    visitor.get(path)
    assert visitor.post(path, {"do": "approve"}).status_code == 303
    assert "No sender ID waits" in visitor.get("/console/approvals").text
    with db.read() as tx:
        assert senders.find(tx, sender).status == states.APPROVED
        assert senders.history(tx, senders.find(tx, sender).id)[0].by == OPERATOR
        told = audit_log.page(tx, amina_id, PageWanted(1, None))[0]
        logged = users.operator_entries(tx, PageWanted(9, None))
    assert (told.author.kind, told.author.name) == (audit_log.AuthorKind.OPERATOR, "the operator")
    assert [(each.email, each.entry.action, each.entry.before) for each in logged] == [
        (OPERATOR, "sender.approve", "AMINASHOP: submitted")
    ]
    stranger.sign_in(EMAIL, amina_id)
    audit = stranger.get(f"{home_of(db, amina_id)}/audit").text
    assert "Approved a sender ID" in audit
    assert OPERATOR not in audit


def test_a_sender_id_is_rejected_with_a_reason_that_its_account_reads(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    path = f"/console/approvals/senders/{waiting_sender(db, amina_id)}"
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(path)
    refused = visitor.post(path, {"do": "reject", "reason": " "})
    assert refused.status_code == 400
    assert "must have 1 to 255 characters" in refused.text
    assert visitor.post(path, {"do": "reject", "reason": "Send a letter"}).status_code == 303
    stranger.sign_in(EMAIL, amina_id)
    assert "Send a letter" in stranger.get(f"{home_of(db, amina_id)}/senders").text
    log = visitor.get("/console/log").text
    assert "Rejected a sender ID" in log
    assert "Send a letter" in log
    file = visitor.get(f"/console/log/export?by={OPERATOR}")
    assert file.text.splitlines()[0] == "time,by,action,account,record,before,after,reason"
    assert "sender.reject" in file.text
    assert "sender.reject" not in visitor.get("/console/log/export?by=ama@example.com").text


def test_what_looks_like_another_sender_id_is_approved_for_a_reason_that_the_log_has(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    other = waiting_sender(db, open_account(db, "chidi"), "AMINASH0P")
    with db.write() as tx:
        senders.approve(tx, senders.find(tx, other).id, now_ms=clock.now_ms())
    path = f"/console/approvals/senders/{waiting_sender(db, amina_id)}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    refused = visitor.post(path, {"do": "approve", "reason": " "})
    assert refused.status_code == 400
    assert 'id="reason-error">is required, because AMINASHOP looks like AMINASH0P' in refused.text
    assert visitor.post(path, {"do": "approve", "reason": "one company"}).status_code == 303
    with db.read() as tx:
        logged = users.operator_entries(tx, PageWanted(9, None))
        assert senders.find(tx, path.rpartition("/")[2]).rejection_reason is None
    assert [(each.entry.action, each.entry.reason) for each in logged] == [
        ("sender.approve", "one company")
    ]


def test_an_approved_sender_id_is_suspended_for_a_reason_and_approved_again(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    path = f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)

    def buttons() -> list[str]:
        return re.findall(r'name="do" value="(\w+)"', visitor.get(path).text)

    def status() -> str:
        with db.read() as tx:
            return senders.find(tx, sender).status

    assert buttons() == ["approve", "reject"]
    early = visitor.post(path, {"do": "suspend", "reason": "complaints"})
    assert (early.status_code, status()) == (400, states.SUBMITTED)
    assert visitor.post(path, {"do": "approve"}).headers["location"] == APPROVALS
    assert buttons() == ["suspend"]
    refused = visitor.post(path, {"do": "suspend"})
    assert (refused.status_code, status()) == (400, states.APPROVED)
    done = visitor.post(path, {"do": "suspend", "reason": "complaints of a network"})
    assert (done.status_code, status()) == (303, states.SUSPENDED)
    assert "Suspended a sender ID" in visitor.get("/console/log").text
    stranger.sign_in(EMAIL, amina_id)
    home = home_of(db, amina_id)
    assert "complaints of a network" in stranger.get(f"{home}/senders").text
    assert "Suspended a sender ID" in stranger.get(f"{home}/audit").text
    assert "complaints" not in stranger.page.text
    assert buttons() == ["approve"]
    assert visitor.post(path, {"do": "approve"}).headers["location"] == path
    assert status() == states.APPROVED
    with db.read() as tx:
        logged = users.operator_entries(tx, PageWanted(9, None))
    assert [(each.entry.before, each.entry.after) for each in logged] == [
        ("AMINASHOP: suspended", "AMINASHOP: approved"),
        ("AMINASHOP: approved", "AMINASHOP: suspended"),
        ("AMINASHOP: submitted", "AMINASHOP: approved"),
    ]


def test_a_sender_id_that_looks_like_anothers_says_so(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi")
    approved = waiting_sender(db, chidi, "PAYPAL")
    with db.write() as tx:
        senders.approve(tx, senders.find(tx, approved).id, now_ms=clock.now_ms())
    path = f"/console/approvals/senders/{waiting_sender(db, amina_id, 'PAYPA1')}"
    sign_in_operator(visitor, db)
    assert "looks like PAYPAL" in visitor.get("/console/approvals").text
    page = visitor.get(path).text
    assert "<strong>PAYPAL</strong> of" in page
    assert "chidi" in page


def test_an_account_goes_live_after_a_fresh_sign_in(visitor: Visitor, db: Database) -> None:
    zola = account_in_sandbox(db)
    sign_in_operator(visitor, db)
    path = page_of(db, zola).replace("/console/", "/console/approvals/")
    assert "zola" in visitor.get("/console/approvals").text
    visitor.get(path)
    clock.move(FRESH_MS)
    form = {"do": "go live", "reason": "contract signed"}
    asked = visitor.post(path, form)
    assert asked.status_code == 403
    assert "Confirm that it is you" in asked.text
    clock.move(-FRESH_MS)
    assert visitor.post(path, form).status_code == 303
    with db.read() as tx:
        assert not accounts.by_id(tx, zola).sandbox


def test_an_account_is_found_suspended_and_resumed(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    stranger.sign_in(EMAIL, amina_id)
    sign_in_operator(visitor, db)
    path = page_of(db, amina_id)
    waiting_sender(db, amina_id, "TICKETS")
    with db.write() as tx:
        made = keys.issue(
            tx,
            amina_id,
            name="shop",
            sandbox=False,
            permissions=["all"],
            tier="standard",
            now_ms=clock.now_ms(),
        )
    for looked_for in ("AMI", path.rpartition("/")[2], EMAIL, "tickets", made.record.prefix):
        assert f'href="{path}"' in visitor.get("/console/accounts", params={"q": looked_for}).text
    assert "No account has" in visitor.get("/console/accounts?q=nobody%40example.com").text
    assert EMAIL in visitor.get(path).text
    for do, status in (("suspend", "suspended"), ("resume", "active")):
        assert visitor.post(path, {"do": do, "reason": "invoice 17"}).status_code == 303
        with db.read() as tx:
            assert accounts.by_id(tx, amina_id).status == status
            last = status_history.last(tx, amina_id)
            assert last is not None
            assert (last.reason, last.by) == ("invoice 17", OPERATOR)
        is_told = "This account is suspended" in stranger.get(home_of(db, amina_id)).text
        assert is_told == (status == "suspended")
    log = visitor.get("/console/log", params={"account": "amina"}).text
    assert "Suspended an account" in log
    assert "Resumed an account" in log


def test_a_session_from_before_the_second_step_is_not_enough(
    visitor: Visitor, stranger: Visitor, db: Database
) -> None:
    made_operator(db, OperatorRole.ADMIN)
    sign_in_by_link(visitor, db)
    with db.write() as tx:
        given_codes(tx, users.find(tx, OPERATOR).id, clock.now_ms() - STEP_MS)
    page = visitor.get("/console/approvals")
    assert page.status_code == 403
    assert "/portal/sign-in?back=/console/approvals" in page.text
    visitor.get("/portal/you")
    changed = visitor.post("/portal/you/authenticator", {"do": "turn off"})
    assert changed.status_code == 403, "who came by a link alone does not take the app away"
    assert "sign in with the code of your app or with your passkey" in changed.text


def test_who_has_a_passkey_only_is_asked_for_it_and_for_nothing_else(
    visitor: Visitor, stranger: Visitor, db: Database
) -> None:
    made_operator(db, OperatorRole.ADMIN)
    sign_in_by_link(visitor, db)
    options = visitor.get("/portal/you/passkeys").json()
    visitor.get("/portal/you")
    answer = SecurityKey().make(options)
    made = visitor.post("/portal/you/passkeys", {"do": "make", "name": "fob", "answer": answer})
    assert made.status_code == 303
    sign_in_by_link(stranger, db)
    stranger.get("/portal/you")
    refused = stranger.post("/portal/you/authenticator", {"do": "begin"})
    assert refused.status_code == 403
    assert "To change how you sign in, sign in with your passkey." in refused.text
    assert "data-passkey-does" in refused.text
    assert "ten minutes" not in refused.text, "the sign-in is fresh"
    assert 'type="password"' not in refused.text, "it would open another session as weak as this"
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/authenticator", {"do": "begin"}).status_code == 303
    assert 'id="secret"' in visitor.get("/portal/you/authenticator").text
    shown = stranger.get("/portal/you/authenticator")
    assert (shown.status_code, 'id="secret"' in shown.text) == (403, False)


def test_whoever_sets_an_app_up_is_in_at_once(visitor: Visitor, db: Database) -> None:
    made_operator(db, OperatorRole.AUDITOR)
    sign_in_by_link(visitor, db)
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/authenticator", {"do": "begin"}).status_code == 303
    with db.read() as tx:
        user = users.find(tx, OPERATOR)
        secret = two_step.unconfirmed_secret(tx, SECRET_KEY, user.id)
    code = code_of(secret, clock.now_ms())
    visitor.get("/portal/you/authenticator")
    confirmed = visitor.post("/portal/you/authenticator", {"do": "confirm", "code": code})
    assert confirmed.status_code == 200
    assert visitor.get("/console/approvals").status_code == 200


@pytest.mark.parametrize("cursor", ["x", "AAAA"])
def test_a_cursor_that_is_none_is_refused(visitor: Visitor, db: Database, cursor: str) -> None:
    sign_in_operator(visitor, db)
    for path in ("/console/approvals", "/console/accounts", "/console/log"):
        assert visitor.get(f"{path}?cursor={cursor}").status_code == 400


def test_many_sender_ids_are_paged_oldest_first(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    for number in range(30):
        waiting_sender(db, amina_id, f"SHOP{number:02}")
    sign_in_operator(visitor, db)
    pages = [page.text for page in visitor.pages("/console/approvals")]
    assert len(pages) == 2
    assert "SHOP00" in pages[0]
    assert "SHOP29" not in pages[0]
    assert "SHOP29" in pages[1]
