"""The settings of an account are changed, and its audit log says so."""

import csv
import html
import re

import pytest

from heliograph import accounts, keys
from heliograph.accounts import Account, account_fields, audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.portal.page_request import DONE_COOKIE
from heliograph.users import Role
from heliograph.users.sign_ins import FRESH_MS
from tests.support.factories import open_account
from tests.support.portal.hostile import forms_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of

GIVEN = {
    "name": "Amina Foods Ltd",
    "country_code": "ng",
    "time_zone": "Africa/Lagos",
    "countries": "ng, GH",
    "daily_credits": "500",
}


def account_of(db: Database, account_id: str) -> Account:
    with db.read() as tx:
        return accounts.by_id(tx, account_id)


def entries(db: Database, account_id: str) -> list[tuple[str, str, str | None]]:
    """Returns who did what, oldest first."""
    with db.read() as tx:
        found = audit_log.page(tx, account_id, PageWanted(100, None))
    return [
        (stored.author.name, stored.entry.action, stored.entry.detail) for stored in reversed(found)
    ]


def test_an_owner_changes_the_settings_and_the_audit_log_says_what_they_were(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = account_of(db, amina_id)
    visitor.get(f"{home}/settings")
    assert visitor.post(f"{home}/settings", GIVEN).status_code == 303
    after = account_of(db, amina_id)
    assert after == before._replace(
        name="Amina Foods Ltd",
        country_code="NG",
        time_zone="Africa/Lagos",
        countries=("GH", "NG"),
        daily_credits=500,
    )
    told = entries(db, amina_id)
    assert {(by, action) for by, action, _ in told} == {(EMAIL, "settings.change")}
    details = [detail for _, _, detail in told]
    assert len(details) == 5
    assert "time_zone: UTC → Africa/Lagos" in details
    assert "countries: none → GH, NG" in details
    assert visitor.post(f"{home}/settings", GIVEN).status_code == 303
    assert len(entries(db, amina_id)) == 5  # nothing was changed the second time


def test_a_form_puts_nothing_back_that_somebody_else_has_changed_meanwhile(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = account_of(db, amina_id)
    [form] = (
        form
        for form in forms_of(visitor.get(f"{home}/settings").text)
        if form.action == f"{home}/settings"
    )
    only_tighter = "An owner can only make this tighter. Only the operator loosens it again."
    assert visitor.page.text.count(only_tighter) == 2
    shown = {name.removeprefix("shown_"): form.hidden[name] for name in form.hidden}
    as_shown = form.hidden | {field: shown[field] for field in GIVEN}
    theirs = {"name": "Amina Foods Ltd", "daily_credits": "500", "countries": "GH, NG"}
    assert visitor.post(f"{home}/settings", as_shown | theirs).status_code == 303
    mine = {"time_zone": "Africa/Lagos"}
    assert visitor.post(f"{home}/settings", as_shown | mine).status_code == 303
    assert account_of(db, amina_id) == before._replace(
        name="Amina Foods Ltd",
        daily_credits=500,
        countries=("GH", "NG"),
        time_zone="Africa/Lagos",
    )
    again = visitor.get(f"{home}/settings").text
    [form] = (form for form in forms_of(again) if form.action == f"{home}/settings")
    emptied = form.hidden | {"name": "Amina", "country_code": "GH", "time_zone": "UTC"}
    refused = visitor.post(f"{home}/settings", emptied | {"daily_credits": ""})
    assert refused.status_code == 400  # no limit is asked for, and only the operator loosens one
    assert 'name="shown_daily_credits" value="500"' in refused.text


def test_what_was_done_is_said_once_on_the_page_that_follows(visitor: Visitor, home: str) -> None:
    said = '<p class="toast" role="status">{}</p>'.format
    visitor.get(f"{home}/settings")
    assert said("") in visitor.page.text
    led = visitor.post(f"{home}/settings", GIVEN)
    assert said("Saved") in visitor.get(led.headers["location"]).text
    assert said("") in visitor.get(led.headers["location"]).text
    # a browser may be made to say anything
    visitor.cookies.set(DONE_COOKIE, "<script>", domain="heliograph.test")
    assert said("") in visitor.get(f"{home}/settings").text


LIMITED = {**GIVEN, "countries": "GH NG", "daily_credits": "500"}


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("field", "value", "is_taken"),
    [
        ("countries", "ng", True),
        ("countries", "GH, NG", True),
        ("countries", "GH NG KE", False),
        ("countries", "KE", False),
        ("countries", "", False),
        ("daily_credits", "500", True),
        ("daily_credits", "0", True),
        ("daily_credits", "501", False),
        ("daily_credits", "", False),
    ],
)
def test_an_owner_tightens_the_operators_limits_and_never_loosens_them(
    visitor: Visitor, db: Database, amina_id: str, home: str, field: str, value: str, is_taken: bool
) -> None:
    with db.write() as tx:
        accounts.change(tx, amina_id, countries=["GH", "NG"], daily_credits=500)
    before = account_of(db, amina_id)
    visitor.get(f"{home}/settings")
    answer = visitor.post(f"{home}/settings", {**LIMITED, field: value})
    assert answer.status_code == (303 if is_taken else 400), answer.text
    if not is_taken:
        assert f'id="{field}-error"' in answer.text
        assert account_of(db, amina_id) == before


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 200),
        ("name", "acc_1"),
        ("country_code", "XX"),
        ("time_zone", "Mars/Base"),
        ("time_zone", "../../etc/passwd"),
        ("countries", "GH XX"),
        ("daily_credits", "-1"),
        ("daily_credits", "many"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_kept_and_changes_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str, field: str, value: str
) -> None:
    before = account_of(db, amina_id)
    visitor.get(f"{home}/settings")
    answer = visitor.post(f"{home}/settings", {**GIVEN, field: value})
    assert answer.status_code == 400
    assert f'id="{field}-error"' in answer.text
    assert f'value="{html.escape(value)}"' in answer.text
    assert account_of(db, amina_id) == before
    assert entries(db, amina_id) == []


def test_all_that_is_wrong_is_told_at_once(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        accounts.change(tx, amina_id, countries=["GH"], daily_credits=500)
    before = account_of(db, amina_id)
    wrong = {
        "name": "acc_1",
        "country_code": "XX",
        "time_zone": "Mars/Base",
        "countries": "GH KE",
        "daily_credits": "501",
    }
    visitor.get(f"{home}/settings")
    page = visitor.post(f"{home}/settings", wrong).text
    told = dict(re.findall(r'id="(\w+)-error">(.+?)</span>', page))
    assert {name: html.unescape(words) for name, words in told.items()} == {
        "name": "must not begin like an id, with acc_ or cus_; it is 'acc_1'",
        "country_code": "must be a country of ISO 3166-1 in two letters, such as GH, not 'XX'",
        "time_zone": "must be a time zone of the IANA database, such as Africa/Accra, not"
        " 'Mars/Base'",
        "countries": "must be some of GH: the operator can allow more",
        "daily_credits": "must be at most 500: the operator can allow more",
    }
    for name, value in wrong.items():
        assert f'name="{name}" value="{value}"' in page, "what was typed is kept"
    page = visitor.post(f"{home}/settings", {"countries": "XX", "daily_credits": "few"}).text
    assert set(re.findall(r'id="(\w+)-error">', page)) == set(wrong)
    assert account_of(db, amina_id) == before
    assert entries(db, amina_id) == []


def test_a_cap_may_have_as_many_digits_as_its_refusal_says(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/settings")
    most = str(account_fields.DAILY_CREDITS_MAX)
    assert visitor.post(f"{home}/settings", {**GIVEN, "daily_credits": most}).status_code == 303
    assert account_of(db, amina_id).daily_credits == account_fields.DAILY_CREDITS_MAX


def test_only_owners_with_a_fresh_sign_in_change_settings(
    at_noon: None, visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = account_of(db, amina_id)
    stranger.sign_in("dev@example.com", amina_id, Role.DEVELOPER)
    page = stranger.get(f"{home}/settings").text
    assert "Owners of the account can change these" in page
    assert "<form" not in page.split("<main")[1]
    visitor.get(f"{home}/settings")
    clock.move(FRESH_MS)
    refused = visitor.post(f"{home}/settings", GIVEN)
    assert refused.status_code == 403
    assert "Confirm that it is you" in refused.text
    assert account_of(db, amina_id) == before


def test_the_audit_log_tells_what_people_and_programs_did_and_comes_as_a_file(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/keys/new")
    visitor.post(f"{home}/keys/new", {"name": "=shop", "mode": "sandbox", "may sms.send": "yes"})
    [key] = made(db, amina_id)
    visitor.get(f"{home}/keys/{keys.text_id(key)}/revoke")
    visitor.post(f"{home}/keys/{keys.text_id(key)}/revoke")
    visitor.get(f"{home}/contacts/new")
    visitor.post(f"{home}/contacts/new", {"phone": "233201234567", "name": "Esi"})
    program = audit_log.Author(audit_log.AuthorKind.KEY, key.id, f"{key.prefix}…")
    with db.write() as tx:
        audit_log.write(
            tx,
            amina_id,
            program,
            audit_log.AuditEntry("contact.remove", "con_1"),
            now_ms=clock.now_ms(),
        )
        audit_log.write(
            tx,
            amina_id,
            program,
            audit_log.AuditEntry("a.newer.action"),
            now_ms=clock.now_ms(),
        )
    assert [action for _, action, _ in entries(db, amina_id)] == [
        "key.make",
        "key.revoke",
        "contact.save",
        "contact.remove",
        "a.newer.action",
    ]
    page = visitor.get(f"{home}/audit").text
    for shown in ("Made an API key", "Revoked an API key", EMAIL, key.prefix, "a.newer.action"):
        assert shown in page
    assert "233201234567" not in page
    by_people = visitor.get(f"{home}/audit?by=people").text
    assert "Removed a contact" not in by_people
    rows = list(csv.DictReader(visitor.get(f"{home}/audit/export").text.splitlines()))
    assert [row["action"] for row in rows] == [
        "a.newer.action",
        "contact.remove",
        "contact.save",
        "key.revoke",
        "key.make",
    ]
    assert rows[-1]["detail"] == "sandbox: =shop"
    assert rows[-2]["detail"] == "'=shop"  # no spreadsheet runs it
    assert re.fullmatch(r"key_[0-9a-z]{26}", rows[-1]["record"])


def test_another_account_has_an_audit_log_of_its_own(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/senders")
    visitor.post(f"{home}/senders", {"sender": "SHOP"})
    chidi = open_account(db, "chidi")
    stranger.sign_in("chidi@example.com", chidi)
    assert "SHOP" not in stranger.get(f"{home_of(db, chidi)}/audit").text
    assert stranger.get(f"{home}/audit").status_code == 404
    assert "SHOP" in visitor.get(f"{home}/audit").text


def made(db: Database, account_id: str) -> list[keys.ApiKey]:
    with db.read() as tx:
        return keys.page(tx, limit=10, account_id=account_id)
