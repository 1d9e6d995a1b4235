"""Operators are users with a role in the console, which keeps one admin at least."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.engine import Connection

from heliograph import users
from heliograph.base.errors import InvalidRequest
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorRole, operators, sign_ins
from tests.support.capability.waiting import until_it_waits

NOW_MS = 1_790_000_000_000
AMA, KOFI = "ama@example.com", "kofi@example.com"


def admin(db: Database, email: str) -> str:
    """Makes an admin, and returns the raw id."""
    with db.write() as tx:
        user = users.add(tx, email, now_ms=NOW_MS)
        operators.set_role(tx, user.id, OperatorRole.ADMIN, now_ms=NOW_MS)
        return user.id


def demote(tx: Connection, user_id: str) -> None:
    operators.set_role(tx, user_id, OperatorRole.SUPPORT, now_ms=NOW_MS)


@pytest.mark.parametrize("take_away", [demote, operators.remove, users.disable])
def test_the_last_admin_stays_until_there_is_another_one(
    db: Database, take_away: Callable[[Connection, str], None]
) -> None:
    ama = admin(db, AMA)
    with db.write() as tx:
        link = sign_ins.make_link(tx, ama, now_ms=NOW_MS)
    with pytest.raises(InvalidRequest, match="must stay admin"), db.write() as tx:
        take_away(tx, ama)
    with db.read() as tx:
        assert operators.role_of(tx, ama) is OperatorRole.ADMIN
        assert sign_ins.is_valid_link(tx, link, now_ms=NOW_MS), "nothing of it was done"
    admin(db, KOFI)
    with db.write() as tx:
        take_away(tx, ama)
        assert operators.role_of(tx, ama) is not OperatorRole.ADMIN
        assert not sign_ins.is_valid_link(tx, link, now_ms=NOW_MS)


def test_of_two_admins_who_remove_each_other_at_once_one_stays(db: Database) -> None:
    ama, kofi = admin(db, AMA), admin(db, KOFI)

    def remove_kofi() -> None:
        with db.write() as tx:
            operators.remove(tx, kofi)

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            operators.remove(tx, ama)
            beside = thread.submit(remove_kofi)
            until_it_waits(db, beside)
        with pytest.raises(InvalidRequest, match="must stay admin"):
            beside.result()
    with db.read() as tx:
        assert operators.roles_of(tx, [ama, kofi]) == {kofi: OperatorRole.ADMIN}


def test_operators_are_listed_page_by_page_with_their_second_step(db: Database) -> None:
    ids = [admin(db, f"u{number}@example.com") for number in range(3)]
    with db.read() as tx:
        first = operators.page(tx, PageWanted(2, None))
        rest = operators.page(tx, PageWanted(2, first[-1].user.id))
    assert [each.user.id for each in (*first, *rest)] == sorted(ids, reverse=True)
    assert not any(each.has_app or each.has_passkey for each in (*first, *rest))


def test_a_link_that_is_made_of_random_octets_is_the_same_again(db: Database) -> None:
    ama, random = admin(db, AMA), bytes(range(32))
    with db.write() as tx:
        link = sign_ins.make_link(tx, ama, random, now_ms=NOW_MS)
        assert link == sign_ins.link_of(random)
        assert sign_ins.is_valid_link(tx, link, now_ms=NOW_MS + sign_ins.LINK_MS - 1)
        assert not sign_ins.is_valid_link(tx, link, now_ms=NOW_MS + sign_ins.LINK_MS)
        sign_ins.begin(tx, link, seen_by="Firefox", now_ms=NOW_MS)
        assert not sign_ins.is_valid_link(tx, link, now_ms=NOW_MS), "it is used up"
