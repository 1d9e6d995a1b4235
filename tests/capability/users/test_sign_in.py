"""Sign-in links and sessions let a person in for a while, until something ends them."""

import pytest
import sqlalchemy as sa

from heliograph import users
from heliograph.base.clock import DAY_MS
from heliograph.database.database import Database
from heliograph.users import Role, sign_ins
from heliograph.users.sign_ins import (
    IDLE_MS,
    LINK_MS,
    LINKS_MAX,
    SEEN_EVERY_MS,
    SESSION_MS,
    SESSIONS_MAX,
)
from heliograph.users.tables import sign_in_links, user_sessions

NOW_MS = 1_790_000_000_000


@pytest.fixture
def ama(db: Database, amina_id: str) -> str:
    """Returns the raw id of a user who owns amina's account."""
    with db.write() as tx:
        user = users.add(tx, "Ama@Example.com", now_ms=NOW_MS)
        users.set_role(tx, user.id, amina_id, Role.OWNER, now_ms=NOW_MS)
    return user.id


def link(db: Database, user_id: str, at_ms: int = NOW_MS) -> str:
    with db.write() as tx:
        return sign_ins.make_link(tx, user_id, now_ms=at_ms)


def begin(db: Database, secret: str, at_ms: int = NOW_MS) -> str:
    with db.write() as tx:
        return sign_ins.begin(tx, secret, seen_by="a browser", now_ms=at_ms).secret


def is_signed_in(db: Database, session: str, at_ms: int) -> bool:
    try:
        with db.read() as tx:
            sign_ins.session_of(tx, session, now_ms=at_ms)
    except sign_ins.NotSignedIn:
        return False
    return True


def test_a_link_signs_in_once(db: Database, ama: str) -> None:
    secret = link(db, ama)
    session = begin(db, secret)
    assert is_signed_in(db, session, NOW_MS)
    with pytest.raises(sign_ins.NotSignedIn):
        begin(db, secret)


def test_a_link_is_valid_for_a_while_and_its_secret_is_not_stored(db: Database, ama: str) -> None:
    secret = link(db, ama)
    with db.read() as tx:
        stored = tx.execute(sa.select(sign_in_links.c.sha256)).scalar_one()
    assert secret.encode() not in stored
    with pytest.raises(sign_ins.NotSignedIn):
        begin(db, secret, NOW_MS + LINK_MS)
    begin(db, secret, NOW_MS + LINK_MS - 1)


@pytest.mark.parametrize("wrong", ["", "x", "x" * 43, "é" * 43, "x" * 100_000])
def test_what_is_no_session_signs_nobody_in(db: Database, ama: str, wrong: str) -> None:
    begin(db, link(db, ama))
    assert not is_signed_in(db, wrong, NOW_MS)
    with pytest.raises(sign_ins.NotSignedIn):
        begin(db, wrong)


def test_a_user_has_only_so_many_links_and_sessions(db: Database, ama: str) -> None:
    links = [link(db, ama, NOW_MS + k) for k in range(LINKS_MAX + 2)]
    for old in links[:2]:
        with pytest.raises(sign_ins.NotSignedIn):
            begin(db, old)
    sessions = [begin(db, link(db, ama, NOW_MS + k), NOW_MS + k) for k in range(SESSIONS_MAX + 1)]
    at_ms = NOW_MS + SESSIONS_MAX
    assert [is_signed_in(db, each, at_ms) for each in sessions] == [False] + [True] * SESSIONS_MAX


def test_a_session_ends_when_it_was_not_used_for_half_a_day(db: Database, ama: str) -> None:
    session = begin(db, link(db, ama))
    assert is_signed_in(db, session, NOW_MS + IDLE_MS - 1)
    assert not is_signed_in(db, session, NOW_MS + IDLE_MS)


def test_a_session_that_is_used_goes_on_and_ends_after_30_days(db: Database, ama: str) -> None:
    session = begin(db, link(db, ama))
    at_ms = NOW_MS
    while at_ms < NOW_MS + SESSION_MS:
        assert is_signed_in(db, session, at_ms), f"{(at_ms - NOW_MS) / DAY_MS} days"
        with db.write() as tx:
            sign_ins.record_session_use(tx, session, now_ms=at_ms)
        at_ms += IDLE_MS - 1
    assert not is_signed_in(db, session, NOW_MS + SESSION_MS)


def test_that_a_session_is_used_is_written_down_once_a_minute(db: Database, ama: str) -> None:
    session = begin(db, link(db, ama))
    seen = []
    for later_ms in (1, SEEN_EVERY_MS - 1, SEEN_EVERY_MS, SEEN_EVERY_MS + 1):
        with db.write() as tx:
            sign_ins.record_session_use(tx, session, now_ms=NOW_MS + later_ms)
            seen.append(tx.execute(sa.select(user_sessions.c.seen_at_ms)).scalar_one() - NOW_MS)
    assert seen == [0, 0, SEEN_EVERY_MS, SEEN_EVERY_MS]


def test_signing_out_ends_this_session_and_no_other(db: Database, ama: str) -> None:
    here, there = begin(db, link(db, ama)), begin(db, link(db, ama))
    with db.write() as tx:
        sign_ins.end_session(tx, here)
    assert [is_signed_in(db, each, NOW_MS) for each in (here, there)] == [False, True]


@pytest.mark.parametrize("change", ["another role", "removed"])
def test_a_change_of_rights_ends_all_sessions_and_links(
    db: Database, amina_id: str, ama: str, change: str
) -> None:
    session, unused = begin(db, link(db, ama)), link(db, ama)
    with db.write() as tx:
        if change == "removed":
            users.remove_member(tx, ama, amina_id)
        else:
            users.set_role(tx, ama, amina_id, Role.VIEWER, now_ms=NOW_MS)
    assert not is_signed_in(db, session, NOW_MS)
    with pytest.raises(sign_ins.NotSignedIn):
        begin(db, unused)


def test_the_same_role_again_ends_nothing(db: Database, amina_id: str, ama: str) -> None:
    session = begin(db, link(db, ama))
    with db.write() as tx:
        users.set_role(tx, ama, amina_id, Role.OWNER, now_ms=NOW_MS)
    assert is_signed_in(db, session, NOW_MS)
