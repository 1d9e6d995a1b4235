"""What somebody has removed already is removed no second time, and the list says so: a removal in
another tab ends on no page that finds nothing.
"""

import re

import pytest

from heliograph import users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import Role, members
from tests.support.console.operators import attached, waiting_sender
from tests.support.portal.routes import There
from tests.support.portal.visitor import Visitor

NOTICE = '<p class="toast" role="status">That was removed already</p>'
KOFI = "kofi@example.com"
INVITED = "esi@example.com"


def _audited(db: Database, account_id: str) -> int:
    with db.read() as tx:
        return len(audit_log.page(tx, account_id, PageWanted(100, None)))


@pytest.fixture
def kofi(db: Database, amina_id: str) -> str:
    with db.write() as tx:
        user = users.add(tx, KOFI, now_ms=clock.now_ms())
        users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
    return users.text_id(user)


@pytest.fixture
def invitation(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        members.invite(tx, amina_id, INVITED, Role.VIEWER, now_ms=clock.now_ms())


@pytest.fixture
def document(db: Database, amina_id: str, there: There) -> str:
    """Stores a document of a sender ID that waits, and returns its path."""
    waiting = waiting_sender(db, amina_id, "WAITS")
    made = attached(db, amina_id, waiting).text_id
    return f"/senders/{waiting}/documents/{made}"


def test_a_removal_in_a_second_tab_leads_to_the_list_and_says_so(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    there: There,
    kofi: str,
    invitation: None,
    document: str,
) -> None:
    endpoint = f"/webhooks/{there.endpoint}"
    contact = f"/contacts/{there.contact}"
    for page, form, fields, listed in (
        (f"{contact}/remove", f"{contact}/remove", {}, "/contacts"),
        (endpoint, endpoint, {"do": "remove"}, "/webhooks"),
        (document.rpartition("/")[0], document, {}, document.rpartition("/")[0]),
        ("/members", "/members", {"do": "remove", "user": kofi}, "/members"),
        ("/members", "/members", {"do": "withdraw", "email": INVITED}, "/members"),
    ):
        visitor.get(f"{home}{page}")
        first = visitor.post(f"{home}{form}", fields)
        assert first.status_code == 303, form
        visitor.get(f"{home}{listed}")  # it says what was done
        before = _audited(db, amina_id)
        second = visitor.post(f"{home}{form}", fields)
        assert (second.status_code, second.headers["location"]) == (303, f"{home}{listed}"), form
        assert NOTICE in visitor.get(f"{home}{listed}").text
        assert _audited(db, amina_id) == before


def test_the_question_about_what_is_removed_already_is_not_asked_and_the_list_says_so(
    visitor: Visitor, db: Database, amina_id: str, home: str, there: There
) -> None:
    path = f"{home}/contacts/{there.contact}/remove"
    visitor.get(path)
    assert visitor.post(path).status_code == 303
    visitor.get(f"{home}/contacts")  # it says what was done
    before = _audited(db, amina_id)
    asked = visitor.get(path)
    assert (asked.status_code, asked.headers["location"]) == (303, f"{home}/contacts")
    assert NOTICE in visitor.get(f"{home}/contacts").text
    assert _audited(db, amina_id) == before


def test_what_is_gone_is_not_changed(visitor: Visitor, home: str, there: There) -> None:
    endpoint = f"{home}/webhooks/{there.endpoint}"
    visitor.get(endpoint)
    visitor.post(endpoint, {"do": "remove"})
    visitor.get(f"{home}/webhooks")
    refused = visitor.post(endpoint, {"do": "disable"})
    assert refused.status_code == 404
    assert re.search(r"There is no (such )?webhook endpoint", refused.text)


def test_an_invitation_that_was_accepted_is_not_withdrawn_and_the_page_says_who_came_in(
    visitor: Visitor, db: Database, amina_id: str, home: str, invitation: None
) -> None:
    """The owner's page is older than that: nobody may believe that the invited one stays out."""
    assert INVITED in visitor.get(f"{home}/members").text
    with db.write() as tx:
        user = users.add(tx, INVITED, now_ms=clock.now_ms())
        users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
    before = _audited(db, amina_id)
    refused = visitor.post(f"{home}/members", {"do": "withdraw", "email": INVITED})
    assert refused.status_code == 400
    assert "invitation was accepted meanwhile: remove the member in the list" in refused.text
    assert f"Remove {INVITED}?" in refused.text
    assert _audited(db, amina_id) == before
