"""Sender IDs in the portal: a list, and a form that registers one."""

import html
import re

import pytest

from heliograph import accounts, senders
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import Role
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of


def registered(db: Database, account_id: str) -> list[tuple[str, str, bool]]:
    with db.read() as tx:
        found = senders.page(tx, limit=10, account_id=account_id)
    return [(sender.sender, sender.status, sender.sandbox) for sender in found]


def test_a_sender_is_registered_and_waits_for_the_operator(
    visitor: Visitor, db: Database, amina: str, home: str
) -> None:
    before = registered(db, amina)
    visitor.get(f"{home}/senders")
    answer = visitor.post(
        f"{home}/senders", {"sender": " SHOP ", "country_code": "gh", "purpose": "Order updates"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}/senders")
    assert registered(db, amina) == [("SHOP", "submitted", False), *before]
    page = visitor.get(f"{home}/senders").text
    for shown in ("SHOP", "submitted", "GH", "Order updates"):
        assert shown in page


def test_in_sandbox_it_is_approved_at_once(
    visitor: Visitor, db: Database, amina: str, home: str
) -> None:
    visitor.get(f"{home}/senders")
    visitor.post(f"{home}/senders", {"sender": "SHOP", "mode": "sandbox"})
    assert registered(db, amina)[0] == ("SHOP", "approved", True)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, "sender"),
        ({"sender": "no"}, "sender"),
        ({"sender": "<script>"}, "sender"),
        ({"sender": "SHOP", "country_code": "XX"}, "country_code"),
        ({"sender": "SHOP", "purpose": "x" * 5_000}, "purpose"),
        ({"sender": "SHOP", "mode": "test"}, "mode"),
        ({"sender": "Heliograph"}, "sender"),
    ],
    ids=str,
)
def test_what_cannot_be_registered_is_told_at_its_field_and_kept(
    visitor: Visitor, db: Database, amina: str, home: str, fields: dict[str, str], at: str
) -> None:
    before = registered(db, amina)
    visitor.get(f"{home}/senders")
    page = visitor.post(f"{home}/senders", fields)
    assert page.status_code == 400
    assert f'id="{at}-error"' in page.text
    for name, typed in fields.items():
        if name != "mode":
            assert f'name="{name}" value="{html.escape(typed)}"' in page.text
    assert "<script>" not in page.text
    assert registered(db, amina) == before


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_senders_registers_one(
    visitor: Visitor, db: Database, amina: str, role: Role
) -> None:
    before = registered(db, amina)
    visitor.sign_in(EMAIL, amina, role)
    home = home_of(db, amina)
    may = role in (Role.OWNER, Role.MARKETER)
    assert ("Register a sender ID" in visitor.get(f"{home}/senders").text) == may
    answer = visitor.post(f"{home}/senders", {"sender": "SHOP"})
    assert answer.status_code == (303 if may else 403)
    assert (registered(db, amina) != before) == may


def test_a_suspended_account_looks_and_changes_nothing(
    visitor: Visitor, db: Database, amina: str, home: str
) -> None:
    with db.write() as tx:
        accounts.suspend(tx, amina)
    before = registered(db, amina)
    assert visitor.get(f"{home}/senders").status_code == 200
    refused = visitor.post(f"{home}/senders", {"sender": "SHOP"})
    assert refused.status_code == 403
    assert "This account is suspended" in refused.text
    assert registered(db, amina) == before


def test_nobody_registers_for_an_account_of_others(
    visitor: Visitor, db: Database, amina: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    before = registered(db, chidi), registered(db, amina)
    visitor.get(f"{home}/senders")
    assert visitor.post(f"{home_of(db, chidi)}/senders", {"sender": "SHOP"}).status_code == 404
    assert visitor.post_as_it_is(f"{home}/senders", data={"sender": "SHOP"}).status_code == 403
    assert (registered(db, chidi), registered(db, amina)) == before


def test_a_rejected_sender_says_why(visitor: Visitor, db: Database, amina: str, home: str) -> None:
    with db.write() as tx:
        sender = senders.register(tx, amina, "SHOP", sandbox=False, now_ms=clock.now_ms())
        senders.reject(tx, sender.id, "It is <b>taken</b>.", now_ms=clock.now_ms())
    page = visitor.get(f"{home}/senders").text
    assert "It is &lt;b&gt;taken&lt;/b&gt;." in page
    assert re.search(r"badge rejected", page)
