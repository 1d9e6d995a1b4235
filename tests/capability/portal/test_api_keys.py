"""The portal has a list of API keys and a form that makes one. A key is shown once, and can be
revoked.
"""

import html
import re

import pytest

from heliograph import accounts, keys
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.keys import ApiKey
from heliograph.portal.api_keys import LETS
from heliograph.users import Role
from heliograph.users.sign_ins import FRESH_MS
from tests.support.api.service import Loop
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of

KEY = re.compile(r"sk_(?:live|test)_[0-9a-f]{48}")


def made(db: Database, account_id: str) -> list[ApiKey]:
    with db.read() as tx:
        return keys.page(tx, limit=10, account_id=account_id)


def issue(
    db: Database, account_id: str, name: str = "shop", expires_at_ms: int | None = None
) -> ApiKey:
    with db.write() as tx:
        return keys.issue(
            tx,
            account_id,
            name=name,
            sandbox=False,
            tier="standard",
            permissions=["sms.send"],
            now_ms=clock.now_ms(),
            expires_at_ms=expires_at_ms,
        ).record


def test_a_key_that_may_do_everything_says_so(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for name, permissions in (
        ("all", keys.ALL_PERMISSIONS),
        ("most", keys.ALL_PERMISSIONS[1:]),
    ):
        with db.write() as tx:
            keys.issue(
                tx,
                amina_id,
                name=name,
                sandbox=False,
                tier="standard",
                permissions=list(permissions),
                now_ms=clock.now_ms(),
            )
    page = visitor.get(f"{home}/keys").text
    shown = re.findall(r'leads">(\w+)<.*?data-name="May"[^>]*>([^<]*)<', page, re.DOTALL)
    assert [name for name, may in shown if may == "everything"] == ["all"]
    assert len(shown) == 2


async def account_of(db: Database, key: str) -> str:
    """Returns the account that this key opens."""
    cache = ConfigCache(db)
    try:
        await cache.refresh()
        principal = await keys.authenticate(cache, [(b"authorization", f"Bearer {key}".encode())])
        return principal.account_id
    finally:
        await cache.close()


def test_a_key_is_made_shown_once_and_opens_what_it_says(
    at_noon: None, visitor: Visitor, run_loop: Loop, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/keys/new")
    page = visitor.post(
        f"{home}/keys/new",
        {
            "name": " shop server ",
            "mode": "live",
            "tier": "free",
            "expires": "in 90 days",
            "may sms.send": "yes",
            "may wallet.read": "yes",
        },
    )
    [shown] = KEY.findall(page.text)
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    [key] = made(db, amina_id)
    assert (key.name, key.sandbox, key.tier) == ("shop server", False, "free")
    assert key.permissions == ("sms.send", "wallet.read")
    assert key.expires_at_ms == key.created_at_ms + 90 * DAY_MS
    assert run_loop(account_of(db, shown)) == amina_id
    listed = visitor.get(f"{home}/keys").text
    assert not KEY.search(listed)
    assert f"{shown[:12]}…" in listed


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"mode": "live"}, "permissions"),
        ({"may sms.everything": "yes"}, "permissions"),
        ({"may sms.send": "yes", "mode": "test"}, "mode"),
        ({"may sms.send": "yes", "tier": "enterprise"}, "tier"),
        ({"may sms.send": "yes", "tier": "none"}, "tier"),
        ({"may sms.send": "yes", "expires": "tomorrow"}, "expires"),
        ({"may sms.send": "yes", "name": "<script>" * 20}, "name"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_told_at_its_field_and_kept(
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], at: str
) -> None:
    visitor.get(f"{home}/keys/new")
    page = visitor.post(f"{home}/keys/new", fields)
    assert page.status_code == 400
    assert f'id="{at}-error"' in page.text
    assert ('name="may sms.send" value="yes" checked' in page.text) == ("may sms.send" in fields)
    assert html.escape(fields.get("name", "")) in page.text
    assert "<script>" not in page.text
    assert made(db, amina_id) == []


def test_every_permission_says_what_it_lets_a_key_do() -> None:
    assert tuple(LETS) == keys.ALL_PERMISSIONS


def test_a_key_is_revoked_after_a_question(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    key = issue(db, amina_id)
    path = f"{home}/keys/{keys.text_id(key)}/revoke"
    assert f'href="{path}"' in visitor.get(f"{home}/keys").text
    assert "shop" in visitor.get(path).text
    assert made(db, amina_id)[0].revoked_at_ms is None
    answer = visitor.post(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}/keys")
    assert made(db, amina_id)[0].revoked_at_ms is not None
    assert f'href="{path}"' not in visitor.get(f"{home}/keys").text


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_keys_makes_or_revokes_one(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    key = issue(db, amina_id)
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    revoke = f"{home}/keys/{keys.text_id(key)}/revoke"
    may = role in (Role.OWNER, Role.DEVELOPER)
    listed = visitor.get(f"{home}/keys")
    assert (listed.status_code, "Make a key" in listed.text, "Revoke" in listed.text) == (
        200,
        may,
        may,
    )
    assert visitor.get(f"{home}/keys/new").status_code == (200 if may else 403)
    assert visitor.get(revoke).status_code == (200 if may else 403)
    visitor.get(f"{home}/keys")
    assert visitor.post(f"{home}/keys/new", {"may sms.send": "yes"}).status_code == (
        200 if may else 403
    )
    assert visitor.post(revoke).status_code == (303 if may else 403)
    assert len(made(db, amina_id)) == 1 + may
    assert (made(db, amina_id)[-1].revoked_at_ms is not None) == may


def test_it_takes_a_fresh_sign_in_and_a_suspended_account_makes_none(
    at_noon: None, visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    key = issue(db, amina_id)
    paths = (f"{home}/keys/new", f"{home}/keys/{keys.text_id(key)}/revoke")
    visitor.get(f"{home}/keys")
    clock.move(FRESH_MS)
    for path in paths:
        asked = visitor.get(path)
        assert asked.status_code == 403
        assert "Confirm that it is you" in asked.text
        assert f'name="back" value="{path}"' in asked.text
        assert visitor.post(path, {"may sms.send": "yes"}).status_code == 403
    clock.move(-FRESH_MS)
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    visitor.get(f"{home}/keys")
    for path in paths:
        assert "suspended" in visitor.post(path, {"may sms.send": "yes"}).text
    assert [each.revoked_at_ms for each in made(db, amina_id)] == [None]


def test_nobody_sees_or_revokes_keys_of_another_account(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    key = issue(db, chidi, "chidis")
    assert "chidis" not in visitor.get(f"{home}/keys").text
    path = f"{home}/keys/{keys.text_id(key)}/revoke"
    assert visitor.get(path).status_code == 404
    visitor.get(f"{home}/keys")
    assert visitor.post(path).status_code == 404
    assert (
        visitor.post(f"{home_of(db, chidi)}/keys/new", {"may sms.send": "yes"}).status_code == 404
    )
    assert [each.revoked_at_ms for each in made(db, chidi)] == [None]
    assert made(db, amina_id) == []


def test_the_list_has_pages_and_says_what_became_of_each(
    at_noon: None, visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for number in range(5):
        issue(db, amina_id, f"key {number}", expires_at_ms=clock.now_ms() + 60_000)
    with db.write() as tx:
        keys.revoke(tx, made(db, amina_id)[0].id, now_ms=clock.now_ms())
    clock.move(60_000)
    seen = [
        name
        for page in visitor.pages(f"{home}/keys?limit=2")
        for name in re.findall(r"key \d", page.text)
    ]
    assert seen == [f"key {number}" for number in (4, 3, 2, 1, 0)]
    page = visitor.get(f"{home}/keys").text
    assert (page.count(">revoked<"), page.count(">expired<")) == (1, 4)
    assert visitor.get(f"{home}/keys?limit=0").status_code == 400
