"""Operators see the API keys of an account in the console, and revoke one that was stolen."""

import re

import pytest

from heliograph import accounts, keys
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.keys import ApiKey
from heliograph.users import OperatorEntry, OperatorRole
from tests.support.console.logs import LATEST, logged
from tests.support.console.looked_up import page_of
from tests.support.console.operators import sign_in_operator
from tests.support.factories import issue_key, open_account
from tests.support.portal.visitor import Visitor

REVOKE = {"do": "revoke", "reason": "found in a public repository"}


def made(db: Database, account_id: str, name: str, *, expires_at_ms: int | None = None) -> ApiKey:
    with db.write() as tx:
        return keys.issue(
            tx,
            account_id,
            name=name,
            sandbox=False,
            tier="standard",
            permissions=["sms.send", "wallet.read"],
            expires_at_ms=expires_at_ms,
            now_ms=clock.now_ms(),
        ).record


def path_of(db: Database, key: ApiKey) -> str:
    return f"{page_of(db, key.account_id)}/keys/{keys.text_id(key)}"


def is_revoked(db: Database, key: ApiKey) -> bool:
    with db.read() as tx:
        return keys.find(tx, keys.text_id(key)).revoked_at_ms is not None


def test_a_stolen_key_is_found_by_how_it_begins_and_revoked(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    stolen, other = made(db, amina_id, "shop"), made(db, amina_id, "till")
    account, path = page_of(db, amina_id), path_of(db, stolen)
    assert f'href="{account}"' in visitor.get(f"/console/accounts?q={stolen.prefix}").text
    assert f'href="{account}/keys"' in visitor.get(account).text
    listed = visitor.get(f"{account}/keys").text
    assert f"{stolen.prefix}…" in listed
    assert "sms.send, wallet.read" in listed
    assert f'href="{path}#revoke"' in listed
    assert "Revoke shop for good" in visitor.get(path).text
    done = visitor.post(path, REVOKE)
    assert (done.status_code, done.headers["location"]) == (303, f"{account}/keys")
    assert (is_revoked(db, stolen), is_revoked(db, other)) == (True, False)
    page = visitor.get(path).text
    assert "It cannot be used again." in page
    assert f'action="{path}"' not in page
    [entry] = logged(db)
    assert entry == OperatorEntry(
        "key.revoke",
        amina_id,
        keys.text_id(stolen),
        "shop: valid",
        "shop: revoked",
        "found in a public repository",
    )
    with db.read() as tx:
        [told] = audit_log.page(tx, amina_id, LATEST)
    assert (told.entry.action, told.author.name) == ("key.revoke", audit_log.OPERATOR_NAME)
    assert "public repository" not in str(told), "the reason is for operators"


def test_all_keys_are_shown_page_by_page_with_what_became_of_them(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    made(db, amina_id, "short-lived", expires_at_ms=clock.now_ms() + DAY_MS)
    for _ in range(4):
        issue_key(db, amina_id)
    clock.move(by_ms=2 * DAY_MS)
    sign_in_operator(visitor, db)
    pages = [page.text for page in visitor.pages(f"{page_of(db, amina_id)}/keys?limit=2")]
    ids = [found for page in pages for found in re.findall(r'/keys/(key_\w+)">', page)]
    assert (len(pages), len(ids), len(set(ids))) == (3, 5, 5)
    assert 'class="badge expired"' in pages[-1]


def test_a_key_that_somebody_has_revoked_is_told_of_quietly(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    key = made(db, amina_id, "shop")
    visitor.get(path_of(db, key))
    with db.write() as tx:
        keys.revoke(tx, key.id, now_ms=clock.now_ms())
    late = visitor.post(path_of(db, key), REVOKE)
    assert late.status_code == 303
    assert "That was done already" in visitor.get(late.headers["location"]).text
    assert list(logged(db)) == []


def test_of_two_who_revoke_a_key_at_once_one_does(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    key = made(db, amina_id, "shop")
    visitor.get(path_of(db, key))
    answers = visitor.post_at_once(path_of(db, key), [REVOKE, REVOKE], config.bump)
    assert [answer.status_code for answer in answers] == [303, 303]
    assert len(logged(db)) == 1


def test_a_key_that_a_command_revokes_at_the_same_moment_is_told_of_quietly(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    key = made(db, amina_id, "shop")
    visitor.get(path_of(db, key))
    [late] = visitor.post_at_once(
        path_of(db, key), [REVOKE], lambda tx: keys.revoke(tx, key.id, now_ms=clock.now_ms())
    )
    assert late.status_code == 303
    assert "That was done already" in visitor.get(late.headers["location"]).text
    assert list(logged(db)) == []


def test_a_key_of_another_account_is_not_found_there(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    key = made(db, open_account(db, "chidi"), "shop")
    path = f"{page_of(db, amina_id)}/keys/{keys.text_id(key)}"
    visitor.get(page_of(db, amina_id))
    assert visitor.get(path).status_code == 404
    assert visitor.post(path, REVOKE).status_code == 404
    assert not is_revoked(db, key)


@pytest.mark.judged_in_python
@pytest.mark.parametrize("role", [OperatorRole.FINANCE, OperatorRole.AUDITOR])
def test_who_lacks_the_right_sees_keys_and_revokes_none(
    visitor: Visitor, db: Database, amina_id: str, role: OperatorRole
) -> None:
    sign_in_operator(visitor, db, role)
    key = made(db, amina_id, "shop")
    assert "Revoke" not in visitor.get(f"{page_of(db, amina_id)}/keys").text
    assert f'action="{path_of(db, key)}"' not in visitor.get(path_of(db, key)).text
    assert visitor.post(path_of(db, key), REVOKE).status_code == 403
    assert not is_revoked(db, key)


@pytest.mark.judged_in_python
def test_a_key_is_revoked_with_a_reason_and_a_fresh_sign_in(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    key = made(db, amina_id, "shop")
    path = path_of(db, key)
    visitor.get(path)
    page = visitor.post(path, {"do": "revoke", "reason": " "})
    assert (page.status_code, 'id="reason-error"' in page.text) == (400, True)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in visitor.post(path, REVOKE).text
    assert not is_revoked(db, key)


def test_the_keys_of_a_closed_account_are_revoked_already(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    key = made(db, open_account(db, "chidi", sender=None), "shop")
    with db.write() as tx:
        accounts.close(tx, key.account_id, now_ms=clock.now_ms())
        keys.revoke_all(tx, key.account_id, now_ms=clock.now_ms())
    page = visitor.get(path_of(db, key)).text
    assert 'class="badge revoked"' in page
    assert f'action="{path_of(db, key)}"' not in page
