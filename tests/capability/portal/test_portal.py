"""The portal lets in whoever has signed in, and takes a form only from a page of ours."""

import pytest
import sqlalchemy as sa

from heliograph import users
from heliograph.accounts.tables import accounts as accounts_table
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.page_request import FORM_OCTETS_MAX
from heliograph.users import Role, sign_ins
from heliograph.users.sign_ins import IDLE_MS
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, SITE, Visitor, home_of

HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}'\"&"


def link_of(db: Database, account_id: str) -> str:
    with db.write() as tx:
        user = users.add(tx, EMAIL, now_ms=clock.now_ms())
        users.set_role(tx, user.id, account_id, Role.OWNER, now_ms=clock.now_ms())
        return sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())


def test_who_is_not_signed_in_sees_how_to_come_in(visitor: Visitor) -> None:
    page = visitor.get("/portal")
    assert page.status_code == 401
    assert "heliograph user link" in page.text


def test_the_root_leads_to_the_portal(visitor: Visitor) -> None:
    assert visitor.get("/").headers["location"] == "/portal"


def test_a_link_shows_a_button_which_signs_in_once(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    secret = link_of(db, amina_id)
    for _program_that_looks_at_mail in range(3):
        assert visitor.get(f"/portal/sign-in/{secret}").status_code == 200
    signed_in = visitor.post(f"/portal/sign-in/{secret}")
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/portal")
    page = visitor.get("/portal")
    assert page.status_code == 200
    assert EMAIL in page.text
    stranger.get(f"/portal/sign-in/{secret}")
    refused = stranger.post(f"/portal/sign-in/{secret}")
    assert refused.status_code == 401
    assert "not valid any more" in refused.text


def test_cookies_are_for_this_host_only_and_no_script_reads_them(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    secret = link_of(db, amina_id)
    visitor.get(f"/portal/sign-in/{secret}")
    given = visitor.post(f"/portal/sign-in/{secret}").headers.get_list("set-cookie")
    assert len(given) == 4  # a session, a form, and none that waits for a code or leads back
    for cookie in given:
        assert cookie.startswith("__Host-heliograph")
        assert {"httponly", "secure", "path=/", "samesite=lax"} <= {
            part.strip().lower() for part in cookie.split(";")
        }


def test_a_sign_in_begins_a_new_session_and_new_forms(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    """Cookies that somebody else has put into a browser are worth nothing after the sign-in."""
    visitor.get("/portal")
    before = dict(visitor.cookies)
    visitor.sign_in(EMAIL, amina_id)
    after = dict(visitor.cookies)
    assert before["__Host-heliograph-form"] != after["__Host-heliograph-form"]
    assert after["__Host-heliograph"] not in before.values()


def test_signing_out_ends_the_session(visitor: Visitor, amina_id: str) -> None:
    visitor.sign_in(EMAIL, amina_id)
    kept = dict(visitor.cookies)
    visitor.get("/portal")
    assert visitor.post("/portal/sign-out").status_code == 303
    assert visitor.get("/portal").status_code == 401
    for name, value in kept.items():
        visitor.cookies.set(name, value)
    assert visitor.get("/portal").status_code == 401


def test_a_session_ends_with_its_role(visitor: Visitor, db: Database, amina_id: str) -> None:
    visitor.sign_in(EMAIL, amina_id)
    with db.write() as tx:
        users.remove_member(tx, users.find(tx, EMAIL).id, amina_id)
    assert visitor.get("/portal").status_code == 401


def test_a_page_that_is_looked_at_keeps_the_session(
    visitor: Visitor, amina_id: str, at_noon: None
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    for _ in range(3):
        clock.move(IDLE_MS - 60_000)
        assert visitor.get("/portal").status_code == 200
    clock.move(IDLE_MS)
    assert visitor.get("/portal").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_a_form_of_another_site_does_nothing(
    visitor: Visitor, amina_id: str, headers: dict[str, str]
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal")
    assert visitor.post("/portal/sign-out", headers=headers).status_code == 403
    assert visitor.get("/portal").status_code == 200


def test_a_form_without_its_token_does_nothing(
    visitor: Visitor, stranger: Visitor, amina_id: str
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    stranger.sign_in("kofi@example.com", amina_id)
    stranger.get("/portal")
    for wrong in ({}, {"form_token": ""}, {"form_token": "é"}, {"form_token": stranger.token}):
        assert visitor.post_as_it_is("/portal/sign-out", data=wrong).status_code == 403
    assert visitor.get("/portal").status_code == 200


def test_a_link_with_a_slash_behind_it_is_none(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    """It would be led on over plain HTTP behind a proxy that does not tell of its TLS."""
    answer = visitor.get(f"/portal/sign-in/{link_of(db, amina_id)}/")
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_a_strange_referer_leads_nowhere(visitor: Visitor, amina_id: str) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal")
    answer = visitor.post("/portal/you/password", headers={"Referer": "http://[x"})
    assert answer.status_code == 400


def test_a_form_of_this_site_is_taken(visitor: Visitor, amina_id: str) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal")
    ours = {"Origin": SITE, "Sec-Fetch-Site": "same-origin"}
    assert visitor.post("/portal/sign-out", headers=ours).status_code == 303


def test_a_first_form_is_taken_of_a_browser_that_has_kept_what_was_just_said(
    stranger: Visitor,
) -> None:
    """That cookie outlives the browser, and the page takes it back; the form's does not."""
    stranger.cookies.set("__Host-heliograph-said", "saved", domain="heliograph.test", path="/")
    stranger.get("/portal/sign-in")
    assert "__Host-heliograph-said" not in stranger.cookies
    assert stranger.post("/portal/sign-in", {"email": EMAIL, "password": "x"}).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"a=" + b"x" * FORM_OCTETS_MAX, 413), (b"a=%ff", 400), (b"&".join([b"a=1"] * 200), 400)],
    ids=["too long", "no UTF-8", "too many fields"],
)
def test_a_form_that_cannot_be_is_refused(visitor: Visitor, body: bytes, status: int) -> None:
    answer = visitor.post_as_it_is(
        "/portal/sign-out",
        content=body,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code == status


def test_another_account_is_not_there(visitor: Visitor, db: Database, amina_id: str) -> None:
    chidi = open_account(db, "chidi")
    visitor.sign_in(EMAIL, amina_id)
    assert visitor.get(home_of(db, amina_id)).status_code == 200
    nobodys = "/portal/accounts/acc_01k5zzzzzzzzzzzzzzzzzzzzzz"
    for path in (home_of(db, chidi), nobodys, "/portal/accounts/x"):
        page = visitor.get(path)
        assert page.status_code == 404
        assert "chidi" not in page.text


def test_who_belongs_to_two_accounts_goes_from_one_to_the_other(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert "Your other accounts" not in visitor.get(home).text
    bilal = open_account(db, "bilal")
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        users.set_role(tx, user.id, bilal, Role.VIEWER, now_ms=clock.now_ms())
    other = home_of(db, bilal)
    assert f'href="{other}">bilal</a>' in visitor.get(home).text
    assert f'href="{home}">' in visitor.get(other).text


def test_a_method_that_a_page_does_not_take_is_refused(visitor: Visitor) -> None:
    refused = visitor.post_as_it_is("/portal")
    assert (refused.status_code, set(refused.headers["allow"].split(", "))) == (
        405,
        {"GET", "HEAD"},
    )


def test_what_a_page_shows_is_never_markup(visitor: Visitor, db: Database, amina_id: str) -> None:
    with db.write() as tx:
        tx.execute(
            sa.update(accounts_table).where(accounts_table.c.id == amina_id).values(name=HOSTILE)
        )
    visitor.sign_in(EMAIL, amina_id)
    page = visitor.get("/portal").text
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "{{ 7 * 7 }}" in page


def test_pages_allow_no_script_of_others_and_are_not_stored(visitor: Visitor) -> None:
    headers = visitor.get("/portal").headers
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "same-origin")


def test_files_are_named_by_what_is_in_them_and_kept_for_a_year(visitor: Visitor) -> None:
    page = visitor.get("/portal").text
    address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    file = visitor.get(address)
    assert (file.status_code, file.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
    for missing in ("/portal/static/portal.css", "/portal/static/../portal.py", "/portal/nothing"):
        assert visitor.get(missing).status_code == 404


def test_components_are_shown_in_development_only(visitor: Visitor) -> None:
    assert visitor.get("/portal/components").status_code == 404
