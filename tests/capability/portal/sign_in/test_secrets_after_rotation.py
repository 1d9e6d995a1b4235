"""A form that shows a secret once shows the same one when it is sent again after its session got
another secret (U154), and shows it to nobody else.
"""

import re
from typing import Final, NamedTuple

import httpx
import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import Role
from heliograph.users.sign_ins import REPLACED_MS
from tests.support.factories import open_account
from tests.support.portal.authenticator import code_of
from tests.support.portal.routes import There
from tests.support.portal.visitor import EMAIL, Visitor, once_in

APP: Final = "/portal/you/authenticator"
COOKIE: Final = "__Host-heliograph"
KEYS: Final = ("a key", "a key of the quickstart")
SHOWN: Final = re.compile(r'id="secret"[^>]*>([^<]+)<|"(sk_test_[0-9a-f]+)')


class Secret(NamedTuple):
    """Says where a form is that shows a secret once, below the account, and what it is given."""

    page: str
    form: str
    fields: dict[str, str]


SECRETS: Final = {
    "a key": Secret("keys/new", "keys/new", {"name": "till", "mode": "live", "may sms.read": "y"}),
    "a key of the quickstart": Secret("quickstart", "quickstart", {"do": "make_key"}),
    "a webhook secret": Secret(
        "webhooks/{endpoint}", "webhooks/{endpoint}/secret", {"do": "rotate"}
    ),
}
of_each_secret = pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)


def secret_in(answer: httpx.Response) -> str:
    found = SHOWN.search(answer.text)
    assert found is not None, answer.text
    assert answer.status_code == 200
    return found[1] or found[2]


def rotate(visitor: Visitor, db: Database, home: str) -> str:
    """Gives the session another secret, and returns the former one."""
    former = visitor.cookies[COOKIE]
    further = open_account(db, f"further {former[:8]}")
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        users.set_role(tx, user.id, further, Role.OWNER, now_ms=clock.now_ms())
    visitor.get(home)
    assert visitor.cookies[COOKIE] != former
    return former


@of_each_secret
def test_a_form_that_was_opened_before_the_rotation_shows_its_secret_after_it(
    visitor: Visitor, db: Database, home: str, there: There, secret: Secret
) -> None:
    opened = visitor.get(f"{home}/{secret.page.format(endpoint=there.endpoint)}")
    form = {"form_token": visitor.token, "once": once_in(opened), **secret.fields}
    rotate(visitor, db, home)
    path = f"{home}/{secret.form.format(endpoint=there.endpoint)}"
    shown = secret_in(visitor.post_as_it_is(path, data=form))
    assert secret_in(visitor.post_as_it_is(path, data=form)) == shown


@of_each_secret
def test_a_form_that_is_sent_again_after_the_rotation_shows_the_same_secret(
    visitor: Visitor, db: Database, home: str, there: There, secret: Secret
) -> None:
    opened = visitor.get(f"{home}/{secret.page.format(endpoint=there.endpoint)}")
    form = {"form_token": visitor.token, "once": once_in(opened), **secret.fields}
    path = f"{home}/{secret.form.format(endpoint=there.endpoint)}"
    shown = secret_in(visitor.post_as_it_is(path, data=form))
    former = rotate(visitor, db, home)
    assert secret_in(visitor.post_as_it_is(path, data=form)) == shown
    # one that was on its way when the session got another secret
    cookies = {**dict(visitor.cookies), COOKIE: former}
    sent = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    assert secret_in(visitor.post_as_it_is(path, data=form, headers=sent)) == shown
    clock.move(REPLACED_MS)
    assert visitor.post_as_it_is(path, data=form, headers=sent).status_code == 401
    assert secret_in(visitor.post_as_it_is(path, data=form)) == shown


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("who", [EMAIL, "kofi@example.com"])
def test_another_session_is_shown_no_key_that_it_has_not_made(
    visitor: Visitor,
    stranger: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    name: str,
    who: str,
) -> None:
    page, path, fields = SECRETS[name]
    opened = visitor.get(f"{home}/{page}")
    once = once_in(opened)
    form = {"form_token": visitor.token, "once": once, **fields}
    shown = secret_in(visitor.post_as_it_is(f"{home}/{path}", data=form))
    rotate(visitor, db, home)
    clock.move(1)  # no two sessions begin at the same moment
    stranger.sign_in(who, amina_id)
    stranger.get(f"{home}/{page}")
    theirs = stranger.post(f"{home}/{path}", {**fields, "once": once})
    assert theirs.status_code == 409
    assert shown not in theirs.text
    assert SHOWN.search(theirs.text) is None
    assert "This key is shown only to whoever has made it." in theirs.text
    assert secret_in(visitor.post_as_it_is(f"{home}/{path}", data=form)) == shown


def codes_in(answer: httpx.Response) -> list[str]:
    found = re.search(r'id="codes"[^>]*>([^<]+)</pre>', answer.text)
    assert found is not None, answer.text
    assert answer.status_code == 200
    return found[1].split()


def test_recovery_codes_are_shown_again_after_the_rotation(
    visitor: Visitor, db: Database, home: str
) -> None:
    visitor.get("/portal/you")
    assert visitor.post(APP, {"do": "begin"}).status_code == 303
    page = visitor.get(APP)
    key = re.search(r'<code id="secret"[^>]*>((?:<span>[A-Z2-7]+</span>)+)</code>', page.text)
    assert key is not None
    code = code_of(re.sub("<[^>]+>", "", key[1]), clock.now_ms())
    form = {"form_token": visitor.token, "once": once_in(page), "do": "confirm", "code": code}
    rotate(visitor, db, home)  # between the page and its form
    codes = codes_in(visitor.post_as_it_is(APP, data=form))
    assert len(set(codes)) == 10
    assert codes_in(visitor.post_as_it_is(APP, data=form)) == codes
    rotate(visitor, db, home)  # between two clicks
    assert codes_in(visitor.post_as_it_is(APP, data=form)) == codes
