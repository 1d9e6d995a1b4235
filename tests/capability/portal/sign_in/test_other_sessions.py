"""The sessions that a user has elsewhere are ended by a change of how the user signs in."""

from collections.abc import Callable
from typing import Any

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import passkeys, sign_ins, two_step
from tests.support.factories import SECRET_KEY
from tests.support.portal.authenticator import code_of
from tests.support.portal.security_key import SecurityKey
from tests.support.portal.visitor import EMAIL, Visitor

APP = "/portal/you/authenticator"
PASSKEYS = "/portal/you/passkeys"


def send(visitor: Visitor, path: str, **fields: str) -> None:
    visitor.get("/portal/you")
    sent = visitor.post(path, fields)
    assert sent.status_code in (200, 303), sent.text


def turn_app_on(visitor: Visitor) -> None:
    send(visitor, APP, do="begin")
    with visitor.db.read() as tx:
        secret = two_step.unconfirmed_secret(tx, SECRET_KEY, users.find(tx, EMAIL).id)
    send(visitor, APP, do="confirm", code=code_of(secret, clock.now_ms()))


def make_passkey(visitor: Visitor) -> None:
    options: dict[str, Any] = visitor.get(PASSKEYS).json()
    send(visitor, PASSKEYS, do="make", name="Fob", answer=SecurityKey().make(options))


def remove_passkey(visitor: Visitor) -> None:
    with visitor.db.read() as tx:
        [passkey] = passkeys.passkeys_of(tx, users.find(tx, EMAIL).id)
    send(visitor, PASSKEYS, do="remove", passkey=passkeys.text_id(passkey))


def rename_passkey(visitor: Visitor) -> None:
    with visitor.db.read() as tx:
        [passkey] = passkeys.passkeys_of(tx, users.find(tx, EMAIL).id)
    send(visitor, PASSKEYS, do="rename", passkey=passkeys.text_id(passkey), name="Tall")


def nothing(visitor: Visitor) -> None:
    """Needs nothing before."""


@pytest.mark.parametrize(
    ("before", "change", "ends"),
    [
        (nothing, turn_app_on, True),
        (turn_app_on, lambda visitor: send(visitor, APP, do="new codes"), True),
        (turn_app_on, lambda visitor: send(visitor, APP, do="turn off"), True),
        (nothing, lambda visitor: send(visitor, APP, do="begin"), False),
        (nothing, make_passkey, True),
        (make_passkey, remove_passkey, True),
        (make_passkey, rename_passkey, False),
    ],
    ids=["app on", "new codes", "app off", "app begun", "passkey", "removed", "renamed"],
)
def test_a_change_of_how_one_signs_in_ends_the_other_sessions_and_links(
    at_noon: None,
    visitor: Visitor,
    db: Database,
    home: str,
    before: Callable[[Visitor], None],
    change: Callable[[Visitor], None],
    ends: bool,
) -> None:
    before(visitor)
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        other = sign_ins.begin_session(tx, user.id, seen_by="another", now_ms=now_ms)
        link = sign_ins.make_link(tx, user.id, now_ms=now_ms)
    change(visitor)
    assert visitor.get(home).status_code == 200
    with db.write() as tx:
        for use in (
            lambda: sign_ins.session_of(tx, other, now_ms=now_ms),
            lambda: sign_ins.begin(tx, link, seen_by="another", now_ms=now_ms),
        ):
            if not ends:
                use()
                continue
            with pytest.raises(sign_ins.NotSignedIn):
                use()
