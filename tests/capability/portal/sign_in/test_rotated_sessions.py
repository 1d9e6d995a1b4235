"""A session gets another secret when its user gets a further role, and stays as old as it is."""

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import Role, sign_ins
from heliograph.users.sign_ins import FRESH_MS, REPLACED_MS
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of

COOKIE = "__Host-heliograph"


@pytest.fixture
def further(db: Database) -> str:
    return open_account(db, "further")


def _add_role(db: Database, account_id: str, role: Role = Role.OWNER) -> None:
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        users.set_role(tx, user.id, account_id, role, now_ms=clock.now_ms())


def _is_valid(db: Database, secret: str) -> bool:
    with db.read() as tx:
        try:
            sign_ins.session_of(tx, secret, now_ms=clock.now_ms())
        except sign_ins.NotSignedIn:
            return False
    return True


def test_each_session_gets_another_secret_at_the_next_page_and_is_no_fresher(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str, further: str
) -> None:
    stranger.sign_in(EMAIL, amina_id)  # in another browser
    clock.move(FRESH_MS)
    before = [each.cookies[COOKIE] for each in (visitor, stranger)]
    assert visitor.get(home).status_code == 200
    assert visitor.cookies[COOKIE] == before[0]  # nothing has changed yet
    _add_role(db, further)
    for each, secret in zip((visitor, stranger), before, strict=True):
        assert each.get(home_of(db, further)).status_code == 200
        rotated = each.cookies[COOKIE]
        assert rotated != secret
        assert each.get(home).status_code == 200
        assert each.cookies[COOKIE] == rotated  # once
        assert each.post(f"{home}/members", {"do": "withdraw", "email": "x"}).status_code == 403
    assert visitor.get("/portal/you").text.count('name="session"') == 2  # the other's, and all
    clock.move(REPLACED_MS)
    assert [_is_valid(db, secret) for secret in before] == [False, False]
    assert visitor.get(home).status_code == stranger.get(home).status_code == 200


def test_requests_that_are_on_their_way_with_the_former_secret_are_answered(
    visitor: Visitor, db: Database, home: str, further: str
) -> None:
    before = visitor.cookies[COOKIE]
    _add_role(db, further)
    visitor.get(home)
    rotated = visitor.cookies[COOKIE]
    visitor.cookies.delete(COOKIE)
    late = visitor.get(home, headers={"cookie": f"{COOKIE}={before}"})
    assert late.status_code == 200
    assert not any(COOKIE + "=" in each for each in late.headers.get_list("set-cookie"))
    clock.move(REPLACED_MS // 2)
    assert _is_valid(db, before)
    clock.move(REPLACED_MS // 2)
    assert not _is_valid(db, before)
    assert _is_valid(db, rotated)


def test_who_signs_out_ends_the_former_secret_too(
    visitor: Visitor, db: Database, home: str, further: str
) -> None:
    before = visitor.cookies[COOKIE]
    _add_role(db, further)
    visitor.get(home)
    assert _is_valid(db, before)
    assert visitor.post("/portal/sign-out").status_code in (200, 303)
    assert not _is_valid(db, before)


def test_a_role_that_is_taken_or_changed_ends_all_sessions(
    visitor: Visitor, db: Database, home: str, further: str
) -> None:
    _add_role(db, further, Role.VIEWER)
    visitor.get(home)
    _add_role(db, further, Role.DEVELOPER)
    assert visitor.get(home).status_code == 401


WHY = "Your role was changed, so you were signed out"


def test_only_a_browser_whose_session_ended_by_another_role_is_told_so(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(home)
    _add_role(db, amina_id, Role.VIEWER)
    asked = visitor.get(f"{home}/messages")
    assert asked.status_code == 401
    assert WHY in asked.text
    assert 'name="back" value="' + f"{home}/messages" in asked.text
    assert WHY not in stranger.get(f"{home}/messages").text
    visitor.sign_in(EMAIL, amina_id, Role.VIEWER)
    assert visitor.get(home).status_code == 200
    with db.write() as tx:
        users.disable(tx, users.find(tx, EMAIL).id)
    gone = visitor.get(home)
    assert gone.status_code == 401
    assert WHY not in gone.text, "a session that was ended for another reason"


def test_a_session_that_another_role_has_ended_stays_ended_whatever_is_done_with_it(
    visitor: Visitor, db: Database, amina_id: str, home: str, further: str
) -> None:
    visitor.get(home)
    secret = visitor.cookies[COOKIE]
    _add_role(db, amina_id, Role.VIEWER)
    _add_role(db, further)  # sessions in use are to get another secret
    clock.move(-1)  # as a machine whose clock is behind sees it
    with db.write() as tx:
        sign_ins.record_session_use(tx, secret, now_ms=clock.now_ms())
        assert sign_ins.sessions_of(tx, users.find(tx, EMAIL), now_ms=clock.now_ms()) == []
        assert sign_ins.user_of_ended(tx, secret, now_ms=clock.now_ms() + 1_000) is None
    assert not _is_valid(db, secret)
    assert visitor.get(home).status_code == 401
    _add_role(db, amina_id, Role.OWNER)
    assert WHY in visitor.get(home).text
