"""Each form that is of no account, and is clicked twice, has one effect. The list of them is
compared with the routes, so a form that is added later needs a line here.
"""

import re
from typing import Any, Final

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy import Table

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.users import operators, passkeys, sign_ins, two_step
from heliograph.users.tables import link_requests, recovery_codes, sign_ups
from tests.support.portal.authenticator import code_of, given_codes
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.security_key import SecurityKey
from tests.support.portal.visitor import EMAIL, Visitor

APP: Final = "/portal/you/authenticator"
PASSKEYS: Final = "/portal/you/passkeys"
CLICKED: Final = "a test of this file clicks it twice"
SAME_TWICE: Final = "what it sets is the same when it is set again"
LINK: Final = "its link counts once, and the second answer says that it was used"
FORMS: Final = {
    APP: CLICKED,
    PASSKEYS: CLICKED,
    "/portal/sign-in/mail": CLICKED,
    "/portal/sign-up": CLICKED,
    "/portal/you/password": SAME_TWICE,
    "/portal/you/sessions": SAME_TWICE,
    "/portal/you/language": SAME_TWICE,
    "/portal/sign-out": SAME_TWICE,
    "/portal/sign-in": "the second sign-in begins another session, and forgets nothing",
    "/portal/sign-in/passkey": "the challenge of its answer counts once",
    "/portal/sign-in/code": "a code counts once, and the second answer asks for another one",
    "/portal/sign-in/{link}": LINK,
    "/portal/sign-up/{link}": LINK,
    "/portal/invitation/{link}": LINK,
}


def test_each_form_is_clicked_twice_or_has_a_reason_not_to_be(portal: Portal) -> None:
    forms = {
        route.path
        for route in portal.routes
        if "POST" in (route.methods or ()) and "{account}" not in route.path
    }
    assert forms == set(FORMS)


def how_many(db: Database, table: Table) -> int:
    with db.read() as tx:
        found: int = tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        return found


def clicked_twice(visitor: Visitor, path: str, form: dict[str, str]) -> httpx.Response:
    """Sends a form twice at once, and then once more. Returns the one answer of all three."""
    form = {"once": "of this form", **form}
    answers = [*visitor.post_twice(path, form), visitor.post(path, form)]
    [told] = {
        (each.status_code, each.headers.get("location"), tuple(codes_in(each))) for each in answers
    }
    assert told[0] in (200, 303)
    return answers[0]


def codes_in(page: httpx.Response) -> list[str]:
    return re.findall(r"\b(?:[0-9a-z]{4}-){3}[0-9a-z]{4}\b", page.text)


def signs_in(db: Database, code: str) -> bool:
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        keys: Any = ("0" * 64,)  # a recovery code needs none
        return two_step.use(tx, keys, user.id, code, now_ms=clock.now_ms())


@pytest.mark.usefixtures("home")
def test_an_app_is_turned_on_by_two_clicks_and_both_show_the_codes_that_count(
    visitor: Visitor, db: Database
) -> None:
    visitor.get("/portal/you")
    visitor.post(APP, {"do": "begin"})
    secret = re.sub(
        r"<[^>]+>", "", re.findall(r'id="secret"[^>]*>(.*?)</code>', visitor.get(APP).text)[0]
    )
    form = {"do": "confirm", "code": code_of(secret, clock.now_ms())}
    codes = codes_in(clicked_twice(visitor, APP, form))
    assert len(set(codes)) == 10
    assert how_many(db, recovery_codes) == 10
    assert signs_in(db, codes[9])
    assert not signs_in(db, codes[9]), "it counts once, however often it is shown"


@pytest.mark.usefixtures("home")
def test_new_recovery_codes_are_made_once_by_two_clicks_and_others_by_the_next_form(
    visitor: Visitor, db: Database
) -> None:
    with db.write() as tx:
        given_codes(tx, users.find(tx, EMAIL).id, clock.now_ms())
        operators.note_second_step(
            tx, sign_ins.sessions_of(tx, users.find(tx, EMAIL), now_ms=clock.now_ms())[0]
        )
    visitor.get("/portal/you")
    form = {"do": "new codes"}
    codes = codes_in(clicked_twice(visitor, APP, form))
    assert signs_in(db, codes[0])
    assert codes_in(visitor.post(APP, {**form, "once": "of this form"})) == codes
    assert not signs_in(db, codes[0]), "what was used counts no more"
    others = codes_in(visitor.post(APP, form))
    assert not set(others) & set(codes)
    late = visitor.post(APP, {**form, "once": "of this form"})
    assert (late.status_code, late.headers["location"]) == (303, "/portal/you")
    assert signs_in(db, others[0])


@pytest.mark.usefixtures("home")
def test_a_passkey_is_removed_by_two_clicks(visitor: Visitor, db: Database) -> None:
    options = visitor.get(PASSKEYS).json()
    visitor.get("/portal/you")
    answer = SecurityKey().make(options)
    clicked_twice(visitor, PASSKEYS, {"do": "make", "name": "fob", "answer": answer})
    with db.read() as tx:
        [passkey] = passkeys.passkeys_of(tx, users.find(tx, EMAIL).id)
    form = {"do": "remove", "passkey": passkeys.text_id(passkey), "once": "to remove"}
    clicked_twice(visitor, PASSKEYS, form)


def test_a_link_is_mailed_once_by_two_clicks(
    visitor: Visitor, db: Database, mailbox: Mailbox
) -> None:
    visitor.get("/portal/sign-in")
    clicked_twice(visitor, "/portal/sign-in/mail", {"email": EMAIL, "back": "/portal"})
    assert how_many(db, link_requests) == 1
    visitor.post("/portal/sign-in/mail", {"email": EMAIL, "back": "/portal"})
    assert how_many(db, link_requests) == 2, "who asks again gets another one"


def test_a_sign_up_is_asked_once_by_two_clicks(
    visitor: Visitor, db: Database, mailbox: Mailbox
) -> None:
    visitor.get("/portal/sign-up")
    form = {"email": "esi@example.com", "company": "Esi Foods", "country": "GH"}
    with db.read() as tx:
        assert tx.execute(sa.select(sign_ups)).first() is None
    clicked_twice(visitor, "/portal/sign-up", form)
    with db.write() as tx:
        tx.execute(sign_ups.update().values(due_at_ms=None))  # it was mailed
    visitor.post("/portal/sign-up", {**form, "once": "of this form"})
    with db.read() as tx:
        [due] = tx.execute(sa.select(sign_ups.c.due_at_ms)).scalars()
    assert due is None


def test_forms_of_no_account_have_their_value_on_their_page(
    visitor: Visitor, home: str, mailbox: Mailbox
) -> None:
    """A page without it could not be used: its form would be refused as incomplete."""
    pages = {APP: "/portal/you", PASSKEYS: "/portal/you"}
    visitor.get("/portal/you")
    options = visitor.get(PASSKEYS).json()
    visitor.get("/portal/you")
    answer = SecurityKey().make(options)
    visitor.post(PASSKEYS, {"do": "make", "name": "fob", "answer": answer})
    pages |= {path: path for path in ("/portal/sign-up",)}
    pages |= {"/portal/sign-in/mail": "/portal/sign-in"}
    for path, page in pages.items():
        text = visitor.get(page).text
        forms = re.findall(rf'<form[^>]*action="{path}"[^>]*>.*?</form>', text, re.S)
        assert forms, path
        assert all('name="once"' in form for form in forms), path
