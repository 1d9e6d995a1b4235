"""The portal has a list of sender IDs, and a form that registers one."""

import html
import re

import pytest

from heliograph import accounts, inbound, senders
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
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = registered(db, amina_id)
    visitor.get(f"{home}/senders")
    answer = visitor.post(
        f"{home}/senders", {"sender": " SHOP ", "country_code": "gh", "purpose": "Order updates"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}/senders")
    assert registered(db, amina_id) == [("SHOP", "submitted", False), *before]
    page = visitor.get(f"{home}/senders").text
    for shown in ("SHOP", "submitted", "GH", "Order updates"):
        assert shown in page


def test_in_sandbox_it_is_approved_at_once(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/senders")
    visitor.post(f"{home}/senders", {"sender": "SHOP", "mode": "sandbox"})
    assert registered(db, amina_id)[0] == ("SHOP", "approved", True)


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
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], at: str
) -> None:
    before = registered(db, amina_id)
    visitor.get(f"{home}/senders")
    page = visitor.post(f"{home}/senders", fields)
    assert page.status_code == 400
    assert f'id="{at}-error"' in page.text
    for name, typed in fields.items():
        if name != "mode":
            assert f'name="{name}" value="{html.escape(typed)}"' in page.text
    assert "<script>" not in page.text
    assert registered(db, amina_id) == before


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_senders_registers_one(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    before = registered(db, amina_id)
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    may = role in (Role.OWNER, Role.MARKETER)
    assert ("Register a sender ID" in visitor.get(f"{home}/senders").text) == may
    answer = visitor.post(f"{home}/senders", {"sender": "SHOP"})
    assert answer.status_code == (303 if may else 403)
    assert (registered(db, amina_id) != before) == may


def test_a_suspended_account_looks_and_changes_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    before = registered(db, amina_id)
    assert visitor.get(f"{home}/senders").status_code == 200
    refused = visitor.post(f"{home}/senders", {"sender": "SHOP"})
    assert refused.status_code == 403
    assert "This account is suspended" in refused.text
    assert registered(db, amina_id) == before


def test_nobody_registers_for_an_account_of_others(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    before = registered(db, chidi), registered(db, amina_id)
    visitor.get(f"{home}/senders")
    assert visitor.post(f"{home_of(db, chidi)}/senders", {"sender": "SHOP"}).status_code == 404
    assert visitor.post_as_it_is(f"{home}/senders", data={"sender": "SHOP"}).status_code == 403
    assert (registered(db, chidi), registered(db, amina_id)) == before


def test_a_rejected_sender_says_why(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        sender = senders.register(tx, amina_id, "SHOP", sandbox=False, now_ms=clock.now_ms())
        senders.reject(tx, sender.id, "It is <b>taken</b>.", now_ms=clock.now_ms())
    page = visitor.get(f"{home}/senders").text
    assert "It is &lt;b&gt;taken&lt;/b&gt;." in page
    assert re.search(r"badge rejected", page)


def test_one_that_waits_or_was_rejected_says_why_and_is_registered_again(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        made = senders.register(
            tx, amina_id, "BANK & CO", sandbox=False, country_code="GH", now_ms=clock.now_ms()
        )
    page = visitor.get(f"{home}/senders").text
    assert "waits for the operator" in page
    assert "from an hour to some working days" in page
    assert "was rejected says why" not in page
    with db.write() as tx:
        senders.reject(tx, made.id, "Show that you are a bank.", now_ms=clock.now_ms())
    page = visitor.get(f"{home}/senders").text
    assert "Show that you are a bank." in page
    assert "was rejected says why" in page
    again = re.search(r'href="([^"]+senders[^"#]+)#register', page)
    assert again is not None
    page = visitor.get(html.unescape(again[1])).text
    assert 'name="sender" value="BANK &amp; CO"' in page
    assert 'name="country_code" value="GH"' in page
    visitor.post(f"{home}/senders", {"sender": "BANK & CO", "purpose": "Statements"})
    assert ("BANK & CO", "submitted", False) in registered(db, amina_id)


def test_one_is_made_the_default_of_its_mode(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/senders")
    for name in ("FIRST", "SECOND"):
        form = {"sender": name, "mode": "sandbox", "is_default": "yes"}
        visitor.post(f"{home}/senders", form)
    assert defaults(db, amina_id) == {(amina_id, True): "SECOND"}
    page = visitor.get(f"{home}/senders").text
    [first] = re.findall(
        r'action="([^"]+)">(?:(?!action).)*Make default <[^>]*>of sandbox: FIRST<', page, re.S
    )
    assert visitor.post(first).status_code == 303
    assert defaults(db, amina_id) == {(amina_id, True): "FIRST"}


def test_whose_sender_it_is_not_makes_it_no_default(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    with db.write() as tx:
        others = senders.register(tx, chidi, "CHIDI", sandbox=True, now_ms=clock.now_ms())
    visitor.get(f"{home}/senders")
    for text_id in (senders.text_id(others), "sid_x", "x"):
        assert visitor.post(f"{home}/senders/{text_id}").status_code == 404
    stranger.sign_in("dev@example.com", amina_id, Role.DEVELOPER)
    page = stranger.get(f"{home}/senders").text
    assert "make default" not in page.lower()
    assert defaults(db, chidi) == {}


def defaults(db: Database, account_id: str) -> dict[tuple[str, bool], str]:
    with db.read() as tx:
        return senders.default_senders(tx, [account_id])


def test_the_page_lists_the_numbers_that_people_write_to(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert "people write to" not in visitor.get(f"{home}/senders").text
    chidi = open_account(db, "chidi")
    with db.write() as tx:
        for digits, account in (("4567", amina_id), ("4568", amina_id), ("4569", chidi)):
            inbound.add_number(tx, digits, "simulator", account, now_ms=clock.now_ms())
        made = senders.register(tx, amina_id, "4567", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    page = visitor.get(f"{home}/senders").text
    below = page[page.index("Numbers that people write to") :]
    rows = re.findall(r"<strong>(\d+)</strong></td>\s*<td[^>]*>([^<]+)</td>", below)
    assert rows == [
        ("4568", "come from a sender ID, until this number is one"),
        ("4567", "may come from it"),
    ]
