"""Users are known by an email address, and have roles in accounts."""

import pytest

from heliograph import users
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.users import RIGHTS, Right, Role
from tests.support.factories import open_account

NOW_MS = 1_790_000_000_000


def test_an_address_is_one_user_however_it_is_written(db: Database) -> None:
    with db.write() as tx:
        first = users.add(tx, "Ama@Example.com", now_ms=NOW_MS)
        again = users.add(tx, " ama@example.COM ", now_ms=NOW_MS + 1)
        found = users.find(tx, "AMA@example.com"), users.find(tx, users.text_id(first))
    assert (first, first, first) == (again, *found)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    "wrong",
    ["", "ama", "ama@", "@example.com", "ama@example", "a b@example.com", "a@b@example.com",
     "ama@example..com", "a" * 65 + "@example.com", "a@" + "b" * 250 + ".com", "a\x00@example.com",
     "a\u202e@example.com"],
)  # fmt: skip
def test_what_is_no_address_makes_no_user(db: Database, wrong: str) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest, match="email"):
        users.add(tx, wrong, now_ms=NOW_MS)


def test_a_user_has_a_role_in_each_account(db: Database, amina_id: str) -> None:
    other = open_account(db, "bilal")
    with db.write() as tx:
        user = users.add(tx, "ama@example.com", now_ms=NOW_MS)
        users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=NOW_MS)
        users.set_role(tx, user.id, other, Role.MARKETER, now_ms=NOW_MS)
        users.set_role(tx, user.id, amina_id, Role.OWNER, now_ms=NOW_MS)
        roles = {each.account_id: each.role for each in users.memberships(tx, user.id)}
        users.remove_member(tx, user.id, amina_id)
        left = {each.account_id: each.role for each in users.memberships(tx, user.id)}
        with pytest.raises(NotFound):
            users.remove_member(tx, user.id, amina_id)
    assert roles == {amina_id: Role.OWNER, other: Role.MARKETER}
    assert left == {other: Role.MARKETER}


def test_users_are_listed_newest_first(db: Database) -> None:
    with db.write() as tx:
        added = [users.add(tx, f"u{k}@example.com", now_ms=NOW_MS + k) for k in range(5)]
        first = users.page(tx, limit=3)
        rest = users.page(tx, limit=3, before_id=first[-1].id)
    assert [*first, *rest] == added[::-1]


def test_who_is_not_there_is_not_found(db: Database) -> None:
    with db.read() as tx:
        for word in ("nobody@example.com", "usr_01k5zzzzzzzzzzzzzzzzzzzzzz", "", "x"):
            with pytest.raises(NotFound):
                users.find(tx, word)


def test_every_role_has_its_rights() -> None:
    assert set(RIGHTS) == set(Role)
    assert RIGHTS[Role.OWNER] == set(Right)
    assert Right.MEMBERS not in RIGHTS[Role.DEVELOPER] | RIGHTS[Role.MARKETER]
    assert not RIGHTS[Role.VIEWER]
