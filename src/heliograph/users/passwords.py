"""A password is judged, hashed with argon2id (RFC 9106), and compared here."""

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.short_texts import invalid_field
from heliograph.users.tables import passwords, users
from heliograph.users.user import fold_email

if TYPE_CHECKING:
    from argon2 import PasswordHasher

CHARACTERS_MIN: Final = 12
CHARACTERS_MAX: Final = 128  # far more than any manager of passwords makes
# what an attacker who knows the usual ways tries before this one; a common one takes fewer
GUESSES_MIN: Final = 10**8
_JUDGED_CHARACTERS: Final = 72  # the library judges no more, and none needs more to be strong
# the second recommended choice of RFC 9106 (section 4): what a guess costs whoever has the hashes
MEMORY_KIB: Final = 65_536
PASSES: Final = 3


class StoredPassword(NamedTuple):
    """Holds the hash of a user's password, in the form of argon2. `user_id` is raw."""

    user_id: str
    argon2: str


def read(text: str, email: str) -> str:
    """Returns a new password in the form in which it is hashed.

    Raises InvalidRequest for one that is too short or too long, or that is among the first
    10^8 that somebody would try who knows the user's address (NIST SP 800-63B, 3.1.1.2).
    """
    password = _normalize(text)
    if not CHARACTERS_MIN <= len(password) <= CHARACTERS_MAX:
        raise invalid_field(
            "password",
            f"must have {CHARACTERS_MIN} to {CHARACTERS_MAX} characters, not {len(password)}",
        )
    from zxcvbn import zxcvbn  # it reads long lists, for 0.1 s

    known = [email, *email.replace("@", ".").split("."), "heliograph"]
    judged = zxcvbn(password[:_JUDGED_CHARACTERS], user_inputs=known)
    if judged["guesses"] < GUESSES_MIN:
        raise invalid_field(
            "password", "must be harder to guess: it is a common one, or made of common parts"
        )
    return password


def hash_of(password: str) -> str:
    """Returns the hash of a password that `read` returned. It takes some 50 ms and 64 MiB."""
    return _hasher().hash(password)


def is_password_right(password: str, stored: StoredPassword | None) -> bool:
    """Returns whether this is the password. If there is none, it takes as long to say so."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        _hasher().verify(
            _hash_of_nobody() if stored is None else stored.argon2, _normalize(password)
        )
    except (Argon2Error, InvalidHashError):
        return False
    return stored is not None


def find(tx: Connection, email: str) -> StoredPassword | None:
    """Returns the password of the user with this email address, if there is one."""
    row = tx.execute(
        sa.select(passwords.c.user_id, passwords.c.argon2)
        .join(users, users.c.id == passwords.c.user_id)
        .where(users.c.email == fold_email(email))
    ).first()
    return None if row is None else StoredPassword(**row._asdict())


def store(tx: Connection, user_id: str, argon2: str, *, now_ms: int) -> None:
    """Stores the hash of a user's new password, in place of the one before."""
    values = {"argon2": argon2, "set_at_ms": now_ms}
    of_user = passwords.c.user_id == user_id
    if tx.execute(passwords.update().where(of_user).values(values)).rowcount == 0:
        tx.execute(passwords.insert().values(values | {"user_id": user_id}))


def _normalize(text: str) -> str:
    """Returns a password as it is compared. Keyboards differ in how they write the same letter."""
    return unicodedata.normalize("NFKC", text[: 4 * CHARACTERS_MAX])


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    # the other processors are for others
    return PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)


@cache
def _hash_of_nobody() -> str:
    return _hasher().hash("the password of nobody")
