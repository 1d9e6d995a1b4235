"""An operator looks at an account's portal as its owner sees it, and changes nothing. The cases are
made from the routes, so a page of the portal that is added later is asked, too.
"""

import re
from typing import Any

import pytest
from starlette.routing import Route

from heliograph import accounts, users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.console.seen_pages.seen_portal import FILES, SEEN
from heliograph.database.database import Database
from heliograph.jobs.portal_views import end_views
from heliograph.portal.pages import OF_ACCOUNT, PAGES
from heliograph.portal.portal import Portal
from heliograph.users import OPERATOR_RIGHTS, OperatorRight, OperatorRole, portal_views, sign_ins
from heliograph.users.portal_views import VIEW_MS
from tests.support.console.operators import (
    OPERATOR,
    made_operator,
    sign_in_by_link,
    sign_in_operator,
)
from tests.support.factories import open_account
from tests.support.portal.contents import contents
from tests.support.portal.routes import There, asked_of, customer_of, things_of
from tests.support.portal.visitor import EMAIL, Visitor

BAR = "You see the portal of <strong>amina</strong> as its owner does, as kofi@example.com."
# of a key as a whole, of the secret of a webhook endpoint
SECRETS = re.compile(r"sk_(live|test)_[0-9A-Za-z]{20}|whsec_[0-9A-Za-z+/]{20}")


@pytest.fixture
def there(db: Database, amina_id: str) -> There:
    return things_of(db, amina_id, customer_of(db, amina_id))


def seen_routes(portal: Portal) -> list[Route]:
    return [route for route in portal.routes if route.path.startswith(SEEN)]


def begin(visitor: Visitor, account: str) -> str:
    """Begins to look at the portal of an account, and returns where that leads."""
    path = f"/console/accounts/{account}"
    visitor.get(path)
    begun = visitor.post(f"{path}/see", {"do": "see", "reason": "they cannot find their texts"})
    assert begun.status_code == 303, begun.text
    return str(begun.headers["location"])


def logged(db: Database, account_id: str) -> tuple[list[Any], list[Any]]:
    """Returns what both logs say of looks at an account, oldest first."""
    with db.read() as tx:
        ours = users.operator_entries(tx, PageWanted(10, None), account_id=account_id)
        theirs = audit_log.page(tx, account_id, PageWanted(10, None))
    return (
        [(each.entry.action, each.email, each.entry.reason, each.at_ms) for each in reversed(ours)],
        [
            (each.entry.action, each.author.name, each.at_ms)
            for each in reversed(theirs)
            if each.entry.action.startswith("account.see")
        ],
    )


def test_every_page_and_form_of_an_accounts_portal_can_be_looked_at(portal: Portal) -> None:
    assert {(route.path, "GET" in (route.methods or ())) for route in seen_routes(portal)} == {
        (f"{SEEN}/{{account}}{each.path.removeprefix(OF_ACCOUNT)}", not each.is_form)
        for each in PAGES
        if each.path.startswith(OF_ACCOUNT)
    }


def test_who_looks_sees_the_pages_and_no_route_changes_or_reveals_anything(
    visitor: Visitor, portal: Portal, db: Database, there: There
) -> None:
    sign_in_operator(visitor, db)
    assert begin(visitor, there.account) == f"{SEEN}/{there.account}"
    token, before, seen = visitor.token, contents(db), 0
    for route in seen_routes(portal):
        method, path = asked_of(route, there)
        if method == "POST":
            fields = {"form_token": token, "do": "make_key", "once": "x", "name": "shop"}
            is_file = path.endswith(("/import", "/documents"))
            page = visitor.post_as_it_is(path, data=fields)
            assert page.status_code == 403, path
            assert is_file or "You can only look at this portal." in page.text, path
        else:
            page = visitor.get(path)
            assert not page.headers["content-type"].startswith("text/csv"), path
            assert page.status_code == 403 or not path.endswith(FILES), path
            seen += page.status_code == 200
        assert page.status_code not in (401, 500), path
        assert page.status_code != 200 or BAR in page.text, path
        assert SECRETS.search(page.text) is None, path
        assert 'href="/portal/accounts/' not in page.text, path
        assert 'action="/portal/accounts/' not in page.text, path
    assert seen > 20
    assert contents(db) == before


def test_a_portal_of_a_closed_account_says_that_it_is_closed(
    visitor: Visitor, db: Database, amina_id: str, there: There
) -> None:
    sign_in_operator(visitor, db)
    with db.write() as tx:
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    page = visitor.get(begin(visitor, there.account)).text
    assert "This account is closed: it can read, but change nothing." in page
    assert "suspended: it can" not in page


@pytest.mark.parametrize("part", ["/keys/new", "/webhooks/new", "/contacts/export", "/money/buy"])
def test_a_page_that_leads_to_a_secret_or_a_file_says_why_it_does_not(
    visitor: Visitor, db: Database, there: There, part: str
) -> None:
    sign_in_operator(visitor, db)
    home = begin(visitor, there.account)
    page = visitor.get(home + part)
    assert page.status_code == 403
    assert BAR in page.text
    assert "You can only look at this portal." in page.text
    assert f'href="{home}"' in page.text


def test_a_look_is_at_one_account_and_of_one_session(
    visitor: Visitor, stranger: Visitor, db: Database, there: There
) -> None:
    sign_in_operator(visitor, db)
    home = begin(visitor, there.account)
    for other in (there.customer, "acc_01k5zzzzzzzzzzzzzzzzzzzzzz"):
        assert visitor.get(f"{SEEN}/{other}").status_code in (303, 404)
    assert visitor.get(f"/portal/accounts/{there.account}").status_code == 404
    chidi = open_account(db, "chidi")
    stranger.sign_in(EMAIL, chidi)
    for path in (home, f"{home}/keys", f"{home}/contacts/export"):
        assert stranger.get(path).status_code == 404, path
    stranger.get("/portal")
    assert stranger.post(f"{home}/send").status_code == 404
    stranger.cookies.clear()
    for path in (home, f"{home}/keys"):
        assert stranger.get(path).status_code == 401, path


@pytest.mark.parametrize("role", list(OperatorRole))
def test_only_who_may_read_texts_too_may_look(
    visitor: Visitor, db: Database, there: There, role: OperatorRole
) -> None:
    sign_in_operator(visitor, db, role)
    path = f"/console/accounts/{there.account}"
    page = visitor.get(path)
    is_his = OperatorRight.TEXTS in OPERATOR_RIGHTS[role]
    assert ("See the portal of amina" in page.text) == is_his
    done = visitor.post(f"{path}/see", {"do": "see", "reason": "asked"})
    assert done.status_code == (303 if is_his else 403)
    assert visitor.get(f"{SEEN}/{there.account}").status_code == (200 if is_his else 303)


def test_without_a_second_step_nobody_looks(visitor: Visitor, db: Database, there: There) -> None:
    made_operator(db, OperatorRole.ADMIN)
    sign_in_by_link(visitor, db)
    with db.write() as tx:
        session = sign_ins.session_of(
            tx, visitor.cookies["__Host-heliograph"], now_ms=clock.now_ms()
        )
        account = accounts.with_text_id(tx, there.account)
        portal_views.begin_view(
            tx, session, account.id, there.account, "by mistake", now_ms=clock.now_ms()
        )
    page = visitor.get(f"{SEEN}/{there.account}/keys")
    assert page.status_code == 403
    assert "amina" not in page.text


def test_a_look_without_a_reason_is_refused_at_its_field(
    visitor: Visitor, db: Database, there: There
) -> None:
    sign_in_operator(visitor, db)
    path = f"/console/accounts/{there.account}"
    visitor.get(path)
    page = visitor.post(f"{path}/see", {"do": "see", "reason": " "})
    assert page.status_code == 400
    assert page.text.count('id="reason-error"') == 1
    assert visitor.get(f"{SEEN}/{there.account}").headers["location"] == path


def test_both_logs_have_the_beginning_and_the_end(
    visitor: Visitor, db: Database, amina_id: str, there: There
) -> None:
    sign_in_operator(visitor, db)
    began_ms = clock.now_ms()
    home = begin(visitor, there.account)
    visitor.get(home)
    left = visitor.post(f"/console/accounts/{there.account}/leave")
    assert left.headers["location"] == f"/console/accounts/{there.account}"
    assert visitor.get(home).status_code == 303
    end_views(db)
    ours, theirs = logged(db, amina_id)
    assert [each[:3] for each in ours] == [
        ("account.see", OPERATOR, "they cannot find their texts"),
        ("account.see_end", OPERATOR, None),
    ]
    assert [each[:2] for each in theirs] == [
        ("account.see", "the operator"),
        ("account.see_end", "the operator"),
    ]
    assert 0 <= theirs[0][2] - began_ms < 10_000


@pytest.mark.parametrize("how", ["its time is over", "its session is"])
def test_a_look_that_nobody_ends_ends_by_itself_once(
    visitor: Visitor, db: Database, amina_id: str, there: There, how: str
) -> None:
    sign_in_operator(visitor, db)
    home = begin(visitor, there.account)
    begun_ms = logged(db, amina_id)[0][0][3]
    clock.move(by_ms=VIEW_MS - 60_000)
    end_views(db)
    assert visitor.get(home).status_code == 200
    if how == "its session is":
        visitor.post("/portal/sign-out")
        assert visitor.get(home).status_code == 401
    else:
        clock.move(by_ms=60_000)
        assert visitor.get(home).status_code == 303, "also before it is written down"
        clock.move(by_ms=20_000)
    for _ in range(2):
        end_views(db)
    ours, theirs = logged(db, amina_id)
    assert [each[0] for each in ours] == ["account.see", "account.see_end"]
    assert [each[0] for each in theirs] == ["account.see", "account.see_end"]
    lasted_ms = ours[1][3] - begun_ms
    most = VIEW_MS - 59_000 if how == "its session is" else VIEW_MS + 2
    assert VIEW_MS - 60_000 <= lasted_ms <= most
