"""A form that changes nothing, such as one that was sent twice, is no entry of the audit log."""

import pytest

from heliograph.accounts import audit_log
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.jobs.contact_imports import Imports
from heliograph.users import Role
from tests.support.portal.routes import There
from tests.support.portal.stored_contacts import send_file
from tests.support.portal.visitor import Visitor

# the end of a form's path, what it says, and what the audit log calls that
ONCE_IS_ENOUGH = [
    ("/keys/{key}/revoke", {}, "key.revoke"),
    ("/senders/{sender}", {}, "sender.make_default"),
    ("/contacts/{contact}", {"do": "opt_out"}, "contact.opt_out"),
    ("/webhooks/{endpoint}", {"do": "disable"}, "webhook.disable"),
    (
        "/money/low",
        {"low_balance_credits": "7", "low_balance_amount": ""},
        "low_balance.change",
    ),
]


def done(db: Database, account_id: str) -> list[str]:
    """Returns what was done to the account, the oldest first."""
    with db.read() as tx:
        found = audit_log.page(tx, account_id, PageWanted(100, None))
    return [stored.entry.action for stored in reversed(found)]


@pytest.mark.parametrize(("path", "form", "action"), ONCE_IS_ENOUGH)
def test_what_is_asked_for_twice_is_told_of_once(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    there: There,
    path: str,
    form: dict[str, str],
    action: str,
) -> None:
    asked_for = home + path.format(**there._asdict())
    before = done(db, amina_id)
    visitor.get(f"{home}/settings")
    for _ in range(2):
        answer = visitor.post(asked_for, form)
        assert answer.status_code == 303, answer.text
    assert done(db, amina_id) == [*before, action]


def test_an_endpoint_that_is_enabled_and_rotates_nothing_is_not_changed(
    visitor: Visitor, db: Database, amina_id: str, home: str, there: There
) -> None:
    path = f"{home}/webhooks/{there.endpoint}"
    visitor.get(f"{home}/settings")
    for do in ("enable", "finish"):
        assert visitor.post(path, {"do": do}).status_code == 303
    assert done(db, amina_id) == []
    for do in ("disable", "enable"):
        visitor.post(path, {"do": do})
    assert visitor.post(f"{path}/secret", {"do": "rotate"}).status_code == 200
    visitor.post(path, {"do": "finish"})
    assert done(db, amina_id) == [
        "webhook.disable",
        "webhook.enable",
        "webhook.rotate",
        "webhook.finish",
    ]


def test_a_role_that_a_member_has_already_is_no_change(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    stranger.sign_in("kofi@example.com", amina_id, Role.VIEWER)
    page = visitor.get(f"{home}/members").text
    kofi = page.split("kofi@example.com")[1].split('name="user" value="')[1].split('"')[0]
    for role in ("viewer", "marketer", "marketer"):
        form = {"do": "role", "user": kofi, "role": role}
        assert visitor.post(f"{home}/members", form).status_code == 303
    assert done(db, amina_id) == ["member.role"]


def test_an_import_that_has_ended_is_not_stopped(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/contacts/import")
    path = send_file(visitor, home, "phone\n233201234567\n").headers["location"]
    visitor.get(path)
    while Imports(db).round():
        pass
    assert visitor.post(path, {"do": "stop"}).status_code == 303
    assert "Imported" in visitor.get(path).text
    assert done(db, amina_id) == ["contact.import"]


def test_a_number_that_opts_in_again_is_told_of(
    visitor: Visitor, db: Database, amina_id: str, home: str, there: There
) -> None:
    visitor.get(f"{home}/settings")
    for do in ("opt_in", "opt_out", "opt_in"):
        visitor.post(f"{home}/contacts/{there.contact}", {"do": do})
    assert done(db, amina_id) == ["contact.opt_out", "contact.opt_in"]
