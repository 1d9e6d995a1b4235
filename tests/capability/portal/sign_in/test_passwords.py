"""Users set a password in the portal, sign in with it, confirm with it, and end sessions."""

import html

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import sign_ins
from heliograph.users.password_tries import TRIES_OF_USER_MAX
from heliograph.users.sign_ins import FRESH_MS
from tests.support.portal.passwords import BETTER, GOOD, set_password, sign_in
from tests.support.portal.visitor import EMAIL, Visitor


def test_who_has_set_a_password_comes_in_with_it(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    assert set_password(visitor) == 303
    assert sign_in(stranger, BETTER) == 401
    assert "not right" in stranger.page.text
    assert f'value="{EMAIL}"' in stranger.page.text
    assert BETTER not in stranger.page.text
    assert sign_in(stranger, GOOD) == 303
    assert stranger.get(home).status_code == 200


@pytest.mark.judged_in_python
@pytest.mark.parametrize("password", ["short", "password1234", "", "x" * 129, "<script>a"])
def test_a_password_that_is_refused_says_why_and_is_not_shown(
    visitor: Visitor, stranger: Visitor, home: str, password: str
) -> None:
    visitor.get("/portal/you")
    page = visitor.post("/portal/you/password", {"password": password})
    assert page.status_code == 400
    assert 'id="password-error"' in page.text
    assert not password or html.escape(password) not in page.text
    assert sign_in(stranger, password) == 401


def test_nobody_tells_by_the_answer_whether_an_address_is_a_users(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    told = set()
    for email in (EMAIL, "nobody@example.com", "no address", ""):
        assert sign_in(stranger, "wrong", email=email) == 401
        told.add(stranger.page.text.replace(f'value="{email}"', "").replace(" autofocus", ""))
        told = {text.replace(stranger.token, "") for text in told}
    assert len(told) == 1


def test_too_many_wrong_ones_are_slowed_and_its_user_is_not(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    for _ in range(TRIES_OF_USER_MAX):
        assert sign_in(stranger, "wrong") == 401
    assert sign_in(stranger, GOOD) == 429
    assert int(stranger.page.headers["retry-after"]) > 0
    assert "too many tries" in stranger.page.text
    assert sign_in(visitor, GOOD) == 303, "the browser in which it was set is known"


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("back", "leads_to"),
    [
        ("/portal/accounts/x/money?type=charge", "/portal/accounts/x/money?type=charge"),
        ("https://evil.example/portal/", "/portal"),
        ("//evil.example/portal/", "/portal"),
        ("/portal/\\evil", "/portal"),
        ("/portal/\r\nSet-Cookie: a=b", "/portal"),
        ("/portal/" + "x" * 3_000, "/portal"),
        ("/portalevil", "/portal"),
        ("javascript:alert(1)", "/portal"),
        ("", "/portal"),
    ],
)
def test_who_comes_in_is_led_to_a_page_of_ours(
    visitor: Visitor, stranger: Visitor, home: str, back: str, leads_to: str
) -> None:
    set_password(visitor)
    assert sign_in(stranger, GOOD, back=back) == 303
    assert stranger.page.headers["location"] == leads_to


def test_who_was_signed_out_is_led_to_what_was_asked_for(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    asked = stranger.get(f"{home}/messages?status=failed&type=otp")
    assert asked.status_code == 401
    assert f'name="back" value="{home}/messages?status=failed&amp;type=otp"' in asked.text


def test_a_sign_in_that_is_old_is_confirmed_before_a_password_is_set(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    clock.move(FRESH_MS)
    assert set_password(visitor, BETTER) == 403
    assert sign_in(stranger, BETTER) == 401
    assert sign_in(visitor, GOOD) == 303
    assert set_password(visitor, BETTER) == 303
    assert sign_in(stranger, BETTER) == 303


def test_confirming_begins_a_new_session_and_ends_the_old_one(
    visitor: Visitor, db: Database, home: str
) -> None:
    set_password(visitor)
    before = visitor.cookies["__Host-heliograph"]
    sign_in(visitor, GOOD)
    assert visitor.cookies["__Host-heliograph"] != before
    with db.read() as tx, pytest.raises(sign_ins.NotSignedIn):
        sign_ins.session_of(tx, before, now_ms=clock.now_ms())


def test_a_new_password_ends_the_other_sessions_and_links(
    visitor: Visitor, stranger: Visitor, db: Database, home: str
) -> None:
    set_password(visitor)
    sign_in(stranger, GOOD)
    with db.write() as tx:
        link = sign_ins.make_link(tx, users.find(tx, EMAIL).id, now_ms=clock.now_ms())
    assert set_password(visitor, BETTER) == 303
    assert stranger.get(home).status_code == 401
    assert visitor.get(home).status_code == 200
    visitor.get(f"/portal/sign-in/{link}")
    assert visitor.post(f"/portal/sign-in/{link}").status_code == 401


def test_a_user_sees_his_sessions_and_ends_one_or_all_others(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    set_password(visitor)
    sign_in(stranger, GOOD)
    page = visitor.get("/portal/you").text
    assert page.count('name="session"') == 2  # of the stranger, and of all others
    session = page.partition('name="session" value="')[2].partition('"')[0]
    assert visitor.post("/portal/you/sessions", {"session": session}).status_code == 303
    assert stranger.get(home).status_code == 401
    sign_in(stranger, GOOD)
    visitor.get("/portal/you")
    visitor.post("/portal/you/sessions", {"session": "others"})
    assert stranger.get(home).status_code == 401
    assert visitor.get(home).status_code == 200
    assert 'name="session"' not in visitor.get("/portal/you").text


@pytest.mark.parametrize("session", ["", "zz", "00" * 32, "x" * 10_000])
def test_nobody_ends_a_session_of_others(
    visitor: Visitor, stranger: Visitor, amina_id: str, home: str, session: str
) -> None:
    stranger.sign_in("kofi@example.com", amina_id)
    theirs = stranger.get("/portal/you")
    assert theirs.status_code == 200
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/sessions", {"session": session}).status_code == 303
    for each in (visitor, stranger):
        assert each.get(home).status_code == 200
