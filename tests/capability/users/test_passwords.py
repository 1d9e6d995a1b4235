"""Passwords are taken or refused, only their hash is stored, and guessing is slowed down without
locking anybody out.
"""

import hashlib
import time

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import users
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database
from heliograph.users import password_tries, passwords, sign_ins, tables
from heliograph.users.password_tries import (
    BROWSER_KNOWN_MS,
    BROWSERS_MAX,
    TRIES_OF_ADDRESS_MAX,
    TRIES_OF_BROWSER_MAX,
    TRIES_OF_USER_MAX,
    WINDOW_MS,
    Guesser,
    TooManyTries,
)
from heliograph.users.passwords import StoredPassword
from heliograph.users.tables import known_browsers

NOW_MS = 1_790_000_000_000
EMAIL = "ama@example.com"
GOOD = "purple kettle 41 sings"
AT_HOME, ELSEWHERE = "192.0.2.7", "198.51.100.9"


def stored(db: Database, password: str = GOOD) -> str:
    """Makes a user with this password, and returns the raw id."""
    with db.write() as tx:
        user = users.add(tx, EMAIL, now_ms=NOW_MS)
        hashed = passwords.hash_of(passwords.read(password, EMAIL))
        passwords.store(tx, user.id, hashed, now_ms=NOW_MS)
    return user.id


def is_taken(db: Database, guesser: Guesser, at_ms: int = NOW_MS) -> bool:
    """Returns whether one more try is judged."""
    try:
        with db.write() as tx:
            password_tries.count_try(tx, guesser, now_ms=at_ms)
    except TooManyTries:
        return False
    return True


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    "password",
    [
        "elevenchars",
        "",
        "x" * 129,
        "password1234",
        "123456789012",
        "qwertyuiop12",
        "aaaaaaaaaaaa",
        "ama@example.com",
        "heliograph2026",
    ],
)
def test_short_long_and_common_ones_are_refused(password: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        passwords.read(password, EMAIL)
    assert [field for field, _ in refused.value.fields] == ["password"]
    assert password not in str(refused.value) or not password


@pytest.mark.parametrize(
    "password", [GOOD, "x7#kQ9!vR2@m", "ключ от старого сарая", hashlib.sha512(b"").hexdigest()]
)
def test_the_password_is_right_and_nothing_else(
    db: Database, quick_hashes: None, password: str
) -> None:
    stored(db, password)
    with db.read() as tx:
        found = passwords.find(tx, " AMA@example.com ")
    assert found is not None
    assert passwords.is_password_right(password, found)
    for wrong in (password + " ", password[:-1], "", "\0", "x" * 100_000):
        assert not passwords.is_password_right(wrong, found)


def test_letters_are_the_same_however_a_keyboard_writes_them(
    db: Database, quick_hashes: None
) -> None:
    stored(db, "caf\u00e9 au lait 1889")
    with db.read() as tx:
        found = passwords.find(tx, EMAIL)
    assert passwords.is_password_right("cafe\u0301 au lait 1889", found)


def test_only_a_hash_is_stored_and_each_is_another(db: Database) -> None:
    user = stored(db)
    with db.read() as tx:
        first = tx.execute(sa.select(tables.passwords.c.argon2)).scalar_one()
    stored(db)
    with db.read() as tx:
        [row] = tx.execute(sa.select(tables.passwords)).all()
    # a hash of less memory or fewer passes is guessed the sooner (RFC 9106, section 4)
    assert row.argon2.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert row.user_id == user
    assert row.argon2 != first
    assert GOOD not in str(row)


def test_to_say_that_there_is_none_takes_as_long() -> None:
    """An address that is nobody's, or whose user has no password, cannot be told by the time."""
    found = StoredPassword("", passwords.hash_of(GOOD))

    def takes_s(stored_password: StoredPassword | None) -> float:
        began = time.perf_counter()
        assert not passwords.is_password_right("wrong", stored_password)
        return time.perf_counter() - began

    takes_s(None)
    ratio = min(takes_s(None) for _ in range(5)) / min(takes_s(found) for _ in range(5))
    assert 0.5 < ratio < 2


def test_a_password_that_was_changed_meanwhile_begins_nothing(
    db: Database, quick_hashes: None
) -> None:
    stored(db)
    with db.read() as tx:
        before = passwords.find(tx, EMAIL)
    assert before is not None
    stored(db, "another kettle 42 sings")
    with pytest.raises(sign_ins.NotSignedIn), db.write() as tx:
        sign_ins.begin_with_password(tx, before, seen_by="", now_ms=NOW_MS)


def test_guesses_at_one_user_are_slowed_wherever_they_come_from(db: Database) -> None:
    for number in range(TRIES_OF_USER_MAX):
        assert is_taken(db, Guesser(EMAIL, f"192.0.2.{number}", ""))
    assert not is_taken(db, Guesser(EMAIL, ELSEWHERE, "unknown"))
    assert is_taken(db, Guesser("kofi@example.com", ELSEWHERE, ""))
    assert is_taken(db, Guesser(EMAIL, ELSEWHERE, ""), NOW_MS + WINDOW_MS)


def test_whose_browser_is_known_is_not_locked_out_by_others(
    db: Database, quick_hashes: None
) -> None:
    user = stored(db)
    with db.write() as tx:
        secret = password_tries.know_browser(tx, user, "", now_ms=NOW_MS)
    real = Guesser(EMAIL, AT_HOME, secret)
    while is_taken(db, Guesser(EMAIL, AT_HOME, "")):
        pass
    for _ in range(TRIES_OF_BROWSER_MAX):
        assert is_taken(db, real)
    assert not is_taken(db, real), "but its own guesses are slowed, too"
    # whoever shares the browser guesses at others as a stranger does
    assert is_taken(db, Guesser("kofi@example.com", AT_HOME, secret))
    later_ms = NOW_MS + BROWSER_KNOWN_MS
    for _ in range(TRIES_OF_USER_MAX):
        assert is_taken(db, real, later_ms)
    assert not is_taken(db, Guesser(EMAIL, ELSEWHERE, ""), later_ms), "it is known no more"


@pytest.mark.parametrize(
    ("addresses", "are_one"),
    [
        (("192.0.2.7", "192.0.2.8"), False),
        (("2001:db8::1", "2001:db8::ffff:1"), True),
        (("2001:db8:0:1::1", "2001:db8:0:2::1"), False),
        (("", ""), True),
    ],
)
def test_guesses_at_many_users_are_slowed_by_where_they_come_from(
    db: Database, addresses: tuple[str, str], are_one: bool
) -> None:
    first, second = addresses
    for number in range(TRIES_OF_ADDRESS_MAX):
        assert is_taken(db, Guesser(f"user{number}@example.com", first, ""))
    assert is_taken(db, Guesser("another@example.com", second, "")) != are_one


def test_the_right_password_forgets_the_users_tries_and_not_those_of_the_address(
    db: Database,
) -> None:
    guesser = Guesser(EMAIL, AT_HOME, "")
    for _ in range(TRIES_OF_ADDRESS_MAX // TRIES_OF_USER_MAX):
        for _ in range(TRIES_OF_USER_MAX):
            assert is_taken(db, guesser)
        with db.write() as tx:
            password_tries.forget_tries(tx, guesser, now_ms=NOW_MS)
    assert not is_taken(db, guesser)


def test_a_user_has_so_many_known_browsers_and_the_oldest_goes(
    db: Database, quick_hashes: None
) -> None:
    user = stored(db)
    secrets = []
    for number in range(BROWSERS_MAX + 1):
        with db.write() as tx:
            secrets.append(password_tries.know_browser(tx, user, "", now_ms=NOW_MS + number))
            password_tries.know_browser(tx, user, secrets[-1], now_ms=NOW_MS + number)
    with db.read() as tx:
        assert len(tx.execute(sa.select(known_browsers)).all()) == BROWSERS_MAX
    while is_taken(db, Guesser(EMAIL, AT_HOME, "")):
        pass
    assert not is_taken(db, Guesser(EMAIL, AT_HOME, secrets[0]))
    assert is_taken(db, Guesser(EMAIL, AT_HOME, secrets[1]))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    tries=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, WINDOW_MS)), max_size=40
    )
)
def test_no_user_is_tried_more_often_in_a_window_whatever_the_order(
    db: Database, tries: list[tuple[int, int, int]]
) -> None:
    with db.write() as tx:
        tx.execute(sa.text("DELETE FROM password_tries"))
    at_ms, judged = NOW_MS, list[tuple[int, int]]()
    for user, address, later_ms in tries:
        at_ms += later_ms // 8
        if is_taken(db, Guesser(f"user{user}@example.com", f"192.0.2.{address}", ""), at_ms):
            judged.append((user, at_ms))
    for user, since_ms in judged:
        within = [at for who, at in judged if who == user and 0 <= at - since_ms < WINDOW_MS]
        assert len(within) <= 2 * TRIES_OF_USER_MAX  # two windows may touch
