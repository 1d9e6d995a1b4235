"""Everybody who has no business there asks every route of the console. The cases are made from the
routes, so a page that is added later is asked, too.
"""

import re
from typing import Any

import pytest
from starlette.routing import Route

from heliograph import accounts, users
from heliograph.console.seen_pages.seen_portal import SEEN
from heliograph.database.database import Database
from heliograph.portal.page_request import CONSOLE
from heliograph.portal.portal import Portal
from heliograph.users import OPERATOR_RIGHTS, OperatorRight, OperatorRole
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.api.inbound_texts import store_inbound
from tests.support.console.messages import stored_message
from tests.support.console.operators import (
    OPERATOR,
    account_in_sandbox,
    attached,
    made_operator,
    member_of,
    own_keyword,
    own_number,
    own_things,
    sign_in_by_link,
    sign_in_operator,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.console.rights import right_of_form
from tests.support.portal.contents import contents
from tests.support.portal.hostile import HOSTILE
from tests.support.portal.visitor import EMAIL, Visitor

TAKES_FILE = ("/console/rates/sheets",)


def routes_of(portal: Portal) -> list[Route]:
    """Returns the pages of the console, but for those of an account's portal that are only looked
    at: test_seen_portal.py asks these.
    """
    return [
        route
        for route in portal.routes
        if route.path.startswith(CONSOLE) and not route.path.startswith(SEEN)
    ]


@pytest.fixture
def paths(db: Database, portal: Portal, amina_id: str) -> list[tuple[str, str]]:
    """Returns the path of each page and form, with things that there are."""
    sender = waiting_sender(db, amina_id)
    document = attached(db, amina_id, sender).text_id
    account_id, message = account_in_sandbox(db), stored_message(db, amina_id)
    sheet = uploaded_sheet(db)
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, account_id))
    number, member = own_number(db, account_id), member_of(db, account_id)
    own = own_things(db, account_id)
    keyword = own_keyword(db, amina_id)
    with db.write() as tx:
        text = store_inbound(tx, amina_id)
    told = added(db, OPERATOR_MAIL).recipient.text_id
    found = []
    for route in routes_of(portal):
        path = route.path.replace("{sender}", sender).replace("{account}", account)
        path = path.replace("{message}", message).replace("{document}", document)
        path = path.replace("{carrier}", "simulator").replace("{sheet}", sheet)
        path = path.replace("{user}", member)
        path = path.replace("{recipient}", told).replace("{number}", number)
        path = path.replace("{key}", own.key).replace("{endpoint}", own.endpoint)
        path = path.replace("{campaign}", own.campaign)
        path = path.replace("{inbound}", text).replace("{keyword}", keyword)
        assert "{" not in path, f"{route.path} has a parameter that this test does not know"
        found.append(("GET" if "GET" in (route.methods or ()) else "POST", path))
    assert len(found) > 10
    return found


def ask(visitor: Visitor, method: str, path: str, token: str = "") -> Any:
    if method == "GET":
        return visitor.get(path)
    fields = {"form_token": token, "do": "approve", "reason": "known to us"}
    return visitor.post_as_it_is(path, data=fields)


def test_who_is_signed_out_is_asked_to_sign_in_and_led_back(
    visitor: Visitor, db: Database, paths: list[tuple[str, str]]
) -> None:
    visitor.get("/portal")
    token, before = visitor.token, contents(db)
    for method, path in paths:
        page = ask(visitor, method, path, token)
        assert page.status_code == 401, path
        assert "amina" not in page.text
        if method == "GET":
            assert f'name="back" value="{path}"' in page.text
    assert contents(db) == before


def test_a_member_who_is_no_operator_finds_no_console(
    visitor: Visitor, db: Database, amina_id: str, paths: list[tuple[str, str]]
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal")
    token, before = visitor.token, contents(db)
    unknown = visitor.get("/console/unknown")
    assert unknown.status_code == 404
    for method, path in paths:
        page = ask(visitor, method, path, token)
        assert page.status_code == 404, path
        assert page.text == unknown.text, "it looks as if there were no such page"
    assert contents(db) == before


@pytest.mark.parametrize("role", list(OperatorRole))
def test_an_operator_without_a_second_step_sees_nothing(
    visitor: Visitor, db: Database, paths: list[tuple[str, str]], role: OperatorRole
) -> None:
    made_operator(db, role)
    assert sign_in_by_link(visitor, db) == "/portal"
    assert visitor.get("/portal").headers["location"] == "/console"
    assert visitor.get("/portal/you").status_code == 200
    token, before = visitor.token, contents(db)
    for method, path in paths:
        page = ask(visitor, method, path, token)
        assert page.status_code == 403, path
        assert 'href="/portal/you"' in page.text
        assert "amina" not in page.text
    assert contents(db) == before


@pytest.mark.parametrize("role", list(OperatorRole))
def test_each_operator_sees_all_pages_and_sends_the_forms_of_the_role(
    visitor: Visitor, db: Database, paths: list[tuple[str, str]], role: OperatorRole
) -> None:
    sign_in_operator(visitor, db, role)
    for method, path in paths:
        if method == "GET":
            may = "/documents/" not in path or OperatorRight.APPROVE in OPERATOR_RIGHTS[role]
            assert visitor.get(path).status_code in ((200, 303) if may else (403,)), path
    visitor.get("/console/approvals")
    token, before = visitor.token, contents(db)
    forms = [path for method, path in paths if method == "POST"]
    of_role = {path: right_of_form(path) in OPERATOR_RIGHTS[role] for path in forms}
    for path in forms:
        if not of_role[path]:
            assert ask(visitor, "POST", path, token).status_code == 403, path
    assert contents(db) == before
    for path in forms:
        if of_role[path]:
            assert ask(visitor, "POST", path, token).status_code in (200, 303, 400), path


def test_every_form_refuses_a_missing_token_and_a_foreign_origin(
    visitor: Visitor, db: Database, paths: list[tuple[str, str]]
) -> None:
    sign_in_operator(visitor, db)
    before = contents(db)
    for method, path in paths:
        if method == "GET":
            continue
        visitor.get("/console/approvals")
        file = {"file": b"prefix"} if path in TAKES_FILE else None
        form = {"do": "approve"}
        assert visitor.post_as_it_is(path, data=form, files=file).status_code == 403, path
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert visitor.post(path, headers=headers).status_code == 403, path
    assert contents(db) == before


def test_hostile_names_in_paths_find_nothing(
    visitor: Visitor, portal: Portal, db: Database
) -> None:
    sign_in_operator(visitor, db)
    for route in routes_of(portal):
        if "GET" not in (route.methods or ()) or "{" not in route.path:
            continue
        for text in HOSTILE:
            written = "".join(f"%{octet:02x}" for octet in text[:1_000].encode())
            path = re.sub(r"\{\w+\}", written, route.path)
            assert visitor.get(path).status_code in (404, 405), (route.path, text)


def test_a_session_ends_when_the_role_is_taken(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert visitor.get("/console/approvals").status_code == 200
    with db.write() as tx:
        users.disable(tx, users.find(tx, OPERATOR).id)
    assert visitor.get("/console/approvals").status_code == 401
