"""Whoever signs up gets a mail, a link, and an account in sandbox only. The tests also ask who
learns what.
"""

import re
from typing import Any

import pytest

from heliograph import accounts, keys, users, wallet
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database, metadata
from heliograph.portal.page_request import Service
from heliograph.portal.portal import Portal
from heliograph.portal.sign_in.mailer import Mailer
from heliograph.requests.tables import idempotency_keys
from heliograph.users.password_tries import SIGN_UPS_OF_ADDRESS_MAX
from heliograph.users.sign_ups import SIGN_UP_MS
from heliograph.users.tables import password_tries, sign_ups
from tests.support.api.service import Loop
from tests.support.portal.authenticator import given_codes
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.visitor import EMAIL, Visitor

NEW = "esi@example.com"
FORM = {"company": "Esi Foods", "email": NEW, "country": "GH"}


def ask(visitor: Visitor, **fields: str) -> int:
    visitor.get("/portal/sign-up")
    visitor.page = visitor.post("/portal/sign-up", {**FORM, **fields})
    return visitor.page.status_code


def open_link(visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox) -> str:
    """Opens the link that was mailed, and returns where it leads."""
    assert run_loop(mailer.send_due()) == 1
    path = mailbox.link()
    visitor.get(path)
    visitor.page = visitor.post(path)
    return str(visitor.page.headers.get("location", visitor.page.status_code))


def rows(db: Database) -> dict[str, list[Any]]:
    with db.read() as tx:
        return {
            table.name: list(tx.execute(table.select()))
            for table in metadata.sorted_tables
            # a key has but hashes of a form: of its random value, and of what it says
            if table not in (sign_ups, password_tries, idempotency_keys)
        }


def test_a_link_in_a_mail_makes_an_account_and_its_owner(
    db: Database, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    before = rows(db)
    assert ask(visitor, email=" Esi@Example.com ") == 200
    assert run_loop(mailer.send_due()) == 1
    assert rows(db) == before, "nothing is made before the link is opened"
    assert mailbox.got[-1]["To"] == NEW
    path = mailbox.link()
    assert "Esi Foods" in visitor.get(path).text
    assert rows(db) == before, "programs open links, too"
    home = visitor.post(path).headers["location"]
    page = visitor.get(home)
    assert (page.status_code, "sandbox only" in page.text) == (200, True)
    with db.read() as tx:
        account = accounts.with_name(tx, "Esi Foods")[0]
        held = wallet.wallet_of(tx, account.id)
        [member] = users.memberships(tx, users.find(tx, NEW).id)
    assert (account.country_code, account.sandbox, account.parent_id) == ("GH", True, None)
    assert (held.currency, held.visible_figures.sms_credits) == ("GHS", 0)
    assert (member.account_id, member.role) == (account.id, "owner")
    assert visitor.get(path).status_code == 401, "a link works once"


def test_who_is_a_user_is_told_so_by_mail_alone(
    db: Database,
    home: str,
    visitor: Visitor,
    stranger: Visitor,
    mailer: Mailer,
    run_loop: Loop,
    mailbox: Mailbox,
) -> None:
    told = set()
    for email in (EMAIL, NEW):
        assert ask(stranger, email=email) == 200
        told.add(stranger.page.text.replace(email, ""))
    assert len(told) == 1
    assert run_loop(mailer.send_due()) == 2
    assert run_loop(mailer.send_due()) == 0
    [to_user] = [mail for mail in mailbox.got if mail["To"] == EMAIL]
    found = re.search(r"/portal/sign-in/[\w-]+", to_user.get_content())
    assert found is not None
    stranger.get(found[0])
    assert stranger.post(found[0]).status_code == 303
    assert stranger.get(home).status_code == 200
    assert "already" in to_user.get_content()
    with db.read() as tx:
        assert accounts.with_name(tx, "Esi Foods") == []


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"company": ""}, ["company"]),
        ({"company": "x" * 129}, ["company"]),
        ({"email": "nobody"}, ["email"]),
        ({"country": "XX"}, ["country"]),
        ({"currency": "XXX"}, ["currency"]),
        ({"country": "AQ"}, ["currency"]),
        ({"company": "", "email": "", "country": ""}, ["company", "email", "country"]),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    visitor: Visitor, mailbox: Mailbox, db: Database, fields: dict[str, str], wrong: list[str]
) -> None:
    assert ask(visitor, **fields) == 400
    assert re.findall(r'id="(\w+)-error"', visitor.page.text) == wrong
    if fields.get("company") is None:
        assert 'value="Esi Foods"' in visitor.page.text
    with db.read() as tx:
        assert tx.execute(sign_ups.select()).all() == []


def test_the_currency_may_be_another_one_than_the_countrys(
    db: Database, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    ask(visitor, currency="usd")
    open_link(visitor, mailer, run_loop, mailbox)
    with db.read() as tx:
        account = accounts.with_name(tx, "Esi Foods")[0]
        assert wallet.wallet_of(tx, account.id).currency == "USD"


def test_an_account_that_has_signed_up_goes_live_when_the_operator_says_so(
    db: Database, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    ask(visitor)
    home = open_link(visitor, mailer, run_loop, mailbox)
    text = {"sender": "SANDBOX", "recipients": "233201234567", "message": "Hi", "do": "send"}
    key = {"name": "shop", "may sms.send": "yes"}
    until = "must be sandbox until whoever runs this service lets you go live"
    for path, fields in (("send", text), ("keys/new", key), ("senders", {"sender": "ESI"})):
        visitor.get(f"{home}/{path}")
        refused = visitor.post(f"{home}/{path}", {**fields, "mode": "live"})
        assert refused.status_code == 400, path
        assert until in refused.text, path
    visitor.get(f"{home}/send")
    sent = visitor.post(f"{home}/send", {**text, "mode": "sandbox", "once": "first"})
    assert sent.status_code == 303
    with db.write() as tx:
        account = accounts.go_live(tx, accounts.with_name(tx, "Esi Foods")[0].id)
        made = keys.issue(
            tx,
            account.id,
            name="shop",
            sandbox=False,
            tier="standard",
            permissions=["sms.send"],
            now_ms=clock.now_ms(),
        )
    assert made.record.sandbox is False
    assert "sandbox only" not in visitor.get(home).text


def test_a_customer_of_the_sandbox_does_not_go_live(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        customer = accounts.create(
            tx, "bilal", "GH", parent_id=amina_id, sandbox=True, now_ms=clock.now_ms()
        )
        with pytest.raises(InvalidRequest, match="stays there"):
            accounts.go_live(tx, customer.id)


def test_who_has_an_app_gives_its_code_after_the_link_of_a_sign_up(
    db: Database, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    ask(visitor)
    assert run_loop(mailer.send_due()) == 1
    with db.write() as tx:  # meanwhile somebody has invited the same address
        user = users.add(tx, NEW, now_ms=clock.now_ms())
        given_codes(tx, user.id, clock.now_ms())
    visitor.get(mailbox.link())
    asked = visitor.post(mailbox.link())
    assert asked.headers["location"].startswith("/portal/sign-in/code")
    assert visitor.get("/portal").status_code == 401


def test_sign_ups_are_limited_for_each_address(
    at_noon: None, visitor: Visitor, mailbox: Mailbox
) -> None:
    for number in range(SIGN_UPS_OF_ADDRESS_MAX):
        assert ask(visitor, email=f"esi{number}@example.com") == 200
    assert ask(visitor) == 429
    assert 'value="Esi Foods"' in visitor.page.text
    clock.move(3_600_000)
    assert ask(visitor) == 200


def test_a_link_that_is_old_or_replaced_makes_nothing(
    at_noon: None, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    ask(visitor)
    assert run_loop(mailer.send_due()) == 1
    replaced = mailbox.link()
    ask(visitor, company="Esi Farms")
    assert run_loop(mailer.send_due()) == 1
    assert visitor.get(replaced).status_code == 401
    clock.move(SIGN_UP_MS)
    assert visitor.get(mailbox.link()).status_code == 401
    visitor.get("/portal/sign-in")
    assert visitor.post(mailbox.link()).status_code == 401


def test_a_mail_that_fails_comes_again_and_its_last_link_counts(
    at_noon: None, visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox
) -> None:
    mailbox.is_out = True
    ask(visitor)
    assert run_loop(mailer.send_due()) == 0
    mailbox.is_out = False
    assert run_loop(mailer.send_due()) == 0
    clock.move(60_000)
    assert open_link(visitor, mailer, run_loop, mailbox).startswith("/portal/accounts/")


def test_where_nobody_signs_up_there_is_no_form(visitor: Visitor, portal: Portal) -> None:
    assert visitor.get("/portal/sign-up").status_code == 404, "it takes a mail server"
    assert "/portal/sign-up" not in visitor.get("/portal/sign-in").text
    assert Service._field_defaults["takes_sign_ups"] is False


def test_a_link_makes_nothing_after_sign_up_was_closed(
    db: Database,
    visitor: Visitor,
    portal: Portal,
    mailer: Mailer,
    run_loop: Loop,
    mailbox: Mailbox,
) -> None:
    ask(visitor)
    before = rows(db)
    portal._service = portal._service._replace(takes_sign_ups=False)
    assert open_link(visitor, mailer, run_loop, mailbox) == "404"
    assert rows(db) == before
