"""A sign-in link lets its user in once, a password whenever it is right. Both begin a session, or,
where the user has an authenticator app, a sign-in that waits for its code. Each is a row.

A link and a session are 256 random bits. Whoever has one is let in, so neither is stored, nor
logged: what is stored is its SHA-256, which needs no salt, for random bits cannot be guessed.
"""

import base64
import hashlib
import secrets
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import Unauthorized
from heliograph.base.secrets import Keys
from heliograph.base.short_texts import printable, shorten
from heliograph.users import two_step
from heliograph.users.newest_rows import make_room
from heliograph.users.passwords import StoredPassword
from heliograph.users.tables import (
    SEEN_BY_MAX,
    passwords,
    portal_views,
    sign_in_links,
    user_sessions,
    users,
    waiting_sign_ins,
)
from heliograph.users.user import User, by_id

LINK_MS: Final = DAY_MS  # a command prints a link, and somebody has to hand it on
LINKS_MAX: Final = 10  # of a user at a time; the oldest goes first
IDLE_MS: Final = 12 * 3_600_000  # a session that was not used for so long has ended
SESSION_MS: Final = 30 * DAY_MS  # a session that began so long ago has ended, too
SESSIONS_MAX: Final = 20  # of a user at a time; the one that was not used for longest goes first
FRESH_MS: Final = 10 * 60_000  # for so long after a sign-in, its user may do what matters most
REPLACED_MS: Final = 30_000  # for requests that were on their way with the secret before
SEEN_EVERY_MS: Final = 60_000  # when a session was used is written down this often at most
WAITING_MS: Final = 10 * 60_000  # enough to look for one's phone
WAITING_MAX: Final = 10  # sign-ins of a user that wait for a code; the oldest goes first
LINK_OCTETS: Final = 32
_TOKEN_LENGTH: Final = 43  # in base64url


class NotSignedIn(Unauthorized):
    """This link or session is not valid any more. Sign in again."""

    reason = "not_signed_in"


class WrongCode(Unauthorized):
    """This code is not right, or was used before. Take the one that the app shows now."""

    reason = "wrong_code"


class SignIn(NamedTuple):
    """Holds the secret of a session, or, with `waits`, of a sign-in whose code is asked for."""

    secret: str
    waits: bool


class Session(NamedTuple):
    """Says who is signed in, since when, and when the session was last used, to the minute. `id`
    is what a user ends it by; it opens nothing.
    """

    user: User
    id: str
    began_at_ms: int
    seen_at_ms: int
    seen_by: str
    is_two_step: bool = False  # a passkey or a code has opened it, beside or in place of a password
    is_rotation_due: bool = False

    def needs_use_recorded(self, now_ms: int) -> bool:
        """Returns whether the last recorded use of the session is so old that a new one is to be
        stored.
        """
        return now_ms >= self.seen_at_ms + SEEN_EVERY_MS

    def is_fresh(self, now_ms: int) -> bool:
        """Returns whether the sign-in was a short while ago (FRESH_MS)."""
        return now_ms < self.began_at_ms + FRESH_MS


def make_link(tx: Connection, user_id: str, random: bytes | None = None, *, now_ms: int) -> str:
    """Returns the secret of a new sign-in link, which is valid once, for a day. It is made of
    `random`, if that is given (`link_of`).
    """
    make_room(tx, sign_in_links, user_id, sign_in_links.c.expires_at_ms, LINKS_MAX)
    secret = link_of(secrets.token_bytes(LINK_OCTETS) if random is None else random)
    tx.execute(
        sign_in_links.insert().values(
            sha256=digest(secret), user_id=user_id, expires_at_ms=now_ms + LINK_MS
        )
    )
    return secret


def link_of(random: bytes) -> str:
    """Returns the secret of the sign-in link that these 32 random octets make."""
    return base64.urlsafe_b64encode(random).rstrip(b"=").decode()


def is_valid_link(tx: Connection, link: str, *, now_ms: int) -> bool:
    """Returns whether a sign-in link still signs its user in. It is not used up by that."""
    links = sign_in_links.c
    is_link = (links.sha256 == digest(link)) & (links.expires_at_ms > now_ms)
    return tx.execute(sa.select(links.user_id).where(is_link)).first() is not None


def begin(tx: Connection, link: str, *, seen_by: str, now_ms: int) -> SignIn:
    """Uses a sign-in link up, and returns the sign-in that it begins. `seen_by` is the browser's
    User-Agent.

    Raises NotSignedIn for an unknown link, and for one that is not valid any more.
    """
    links = sign_in_links.c
    used = tx.execute(
        sign_in_links.delete()
        .where(links.sha256 == digest(link), links.expires_at_ms > now_ms)
        .returning(links.user_id)
    ).scalar()
    if used is None:
        raise NotSignedIn()
    return begin_for(tx, used, seen_by=seen_by, now_ms=now_ms)


def begin_with_password(
    tx: Connection, stored: StoredPassword, *, seen_by: str, now_ms: int
) -> SignIn:
    """Returns the sign-in that begins with the right password of a user. `seen_by` is the browser's
    User-Agent.

    Raises NotSignedIn if the password was changed meanwhile.
    """
    still = sa.select(passwords.c.argon2).where(passwords.c.user_id == stored.user_id)
    if tx.execute(still).scalar() != stored.argon2:
        raise NotSignedIn()
    return begin_for(tx, stored.user_id, seen_by=seen_by, now_ms=now_ms)


def begin_for(tx: Connection, user_id: str, *, seen_by: str, now_ms: int) -> SignIn:
    """Returns the sign-in that begins when the first proof of a user (raw id) was right."""
    if not two_step.is_on(tx, user_id):
        return SignIn(begin_session(tx, user_id, seen_by=seen_by, now_ms=now_ms), waits=False)
    waiting = waiting_sign_ins
    make_room(tx, waiting, user_id, waiting.c.expires_at_ms, WAITING_MAX)
    secret = secrets.token_urlsafe(LINK_OCTETS)
    expires_at_ms = now_ms + WAITING_MS
    row = {"sha256": digest(secret), "user_id": user_id, "expires_at_ms": expires_at_ms}
    tx.execute(waiting.insert().values(row))
    return SignIn(secret, waits=True)


def user_waiting_for_code(tx: Connection, secret: str, *, now_ms: int) -> User:
    """Returns the user whose sign-in waits for a code. Raises NotSignedIn if there is none."""
    columns = waiting_sign_ins.c
    query = sa.select(columns.user_id).where(
        columns.sha256 == digest(secret), columns.expires_at_ms > now_ms
    )
    user_id = tx.execute(query).scalar()
    if user_id is None:
        raise NotSignedIn()
    return by_id(tx, user_id)


def finish(tx: Connection, keys: Keys, secret: str, code: str, *, seen_by: str, now_ms: int) -> str:
    """Ends the waiting of a sign-in by a code of the app, or a recovery code, and returns the
    secret of the session that it begins.

    Raises NotSignedIn if none waits, and WrongCode.
    """
    user = user_waiting_for_code(tx, secret, now_ms=now_ms)
    if not two_step.use(tx, keys, user.id, code, now_ms=now_ms):
        raise WrongCode()
    tx.execute(waiting_sign_ins.delete().where(waiting_sign_ins.c.sha256 == digest(secret)))
    return begin_session(tx, user.id, is_two_step=True, seen_by=seen_by, now_ms=now_ms)


def begin_session(
    tx: Connection, user_id: str, *, is_two_step: bool = False, seen_by: str, now_ms: int
) -> str:
    """Returns the secret of a new session of a user (raw id) who has proven who he or she is.
    `is_two_step` says whether it was proven by a passkey, or by a code too.
    """
    tx.execute(users.update().where(users.c.id == user_id).values(signed_in_at_ms=now_ms))
    make_room(tx, user_sessions, user_id, user_sessions.c.seen_at_ms, SESSIONS_MAX)
    secret = secrets.token_urlsafe(LINK_OCTETS)
    tx.execute(
        user_sessions.insert().values(
            sha256=digest(secret),
            user_id=user_id,
            began_at_ms=now_ms,
            seen_at_ms=now_ms,
            expires_at_ms=now_ms + IDLE_MS,
            seen_by=shorten(printable(seen_by), SEEN_BY_MAX - 1),
            is_two_step=is_two_step,
        )
    )
    return secret


def session_of(tx: Connection, secret: str, *, now_ms: int) -> Session:
    """Returns the session with this secret. Raises NotSignedIn."""
    if len(secret) != _TOKEN_LENGTH:
        raise NotSignedIn()
    columns = user_sessions.c
    row = tx.execute(
        sa.select(*_COLUMNS).where(
            columns.sha256 == digest(secret),
            columns.expires_at_ms > now_ms,
            ~columns.is_ended_by_role,
        )
    ).first()
    if row is None:
        raise NotSignedIn()
    return _session(by_id(tx, row.user_id), row)


def user_of_ended(tx: Connection, secret: str, *, now_ms: int) -> str | None:
    """Returns the raw id of the user whose session with this secret has ended by itself; None if it
    was ended by somebody, or more than a day ago (ENDED_KEPT_MS).
    """
    columns = user_sessions.c
    ended = (
        columns.sha256 == digest(secret),
        columns.expires_at_ms <= now_ms,
        ~columns.is_replaced,
        ~columns.is_ended_by_role,
    )
    return tx.execute(sa.select(columns.user_id).where(*ended)).scalar()


def was_ended_by_role(tx: Connection, secret: str) -> bool:
    """Returns whether the session with this secret has ended because its user got another role,
    within the last day (ENDED_KEPT_MS). Nobody learns of it who does not have the secret.
    """
    columns = user_sessions.c
    is_session = columns.sha256 == digest(secret)
    query = sa.select(columns.sha256).where(is_session, columns.is_ended_by_role)
    return tx.execute(query).first() is not None


def sessions_of(tx: Connection, user: User, *, now_ms: int) -> list[Session]:
    """Returns the sessions of a user, the last used first."""
    columns = user_sessions.c
    found = tx.execute(
        sa.select(*_COLUMNS)
        .where(
            columns.user_id == user.id,
            columns.expires_at_ms > now_ms,
            ~columns.is_replaced,
            ~columns.is_ended_by_role,
        )
        .order_by(columns.seen_at_ms.desc(), columns.sha256)
    )
    return [_session(user, row) for row in found]


_COLUMNS: Final = (
    user_sessions.c.user_id,
    user_sessions.c.sha256,
    user_sessions.c.began_at_ms,
    user_sessions.c.seen_at_ms,
    user_sessions.c.seen_by,
    user_sessions.c.is_two_step,
    user_sessions.c.is_rotation_due,
)


def _session(user: User, row: Any) -> Session:
    return Session(
        user,
        row.sha256.hex(),
        row.began_at_ms,
        row.seen_at_ms,
        row.seen_by,
        is_two_step=row.is_two_step,
        is_rotation_due=row.is_rotation_due,
    )


def rotate_session(tx: Connection, secret: str, *, now_ms: int) -> str | None:
    """Returns a new secret of a session, in place of the one that it had. The sign-in is not newer
    for that. The secret before is valid for half a minute yet (REPLACED_MS).

    Returns None if the session has got its new secret already, by a request at the same moment.
    """
    columns, before = user_sessions.c, digest(secret)
    replaced = tx.execute(
        user_sessions.update()
        .where(columns.sha256 == before, columns.is_rotation_due, ~columns.is_replaced)
        .values(is_rotation_due=False, is_replaced=True)
        .returning(*columns)
    ).first()
    if replaced is None:
        return None
    rotated = secrets.token_urlsafe(LINK_OCTETS)
    row = replaced._asdict() | {"sha256": digest(rotated), "is_replaced": False}
    tx.execute(user_sessions.insert().values(row))
    ends_at_ms = min(replaced.expires_at_ms, now_ms + REPLACED_MS)
    is_before = columns.sha256 == before
    tx.execute(user_sessions.update().where(is_before).values(expires_at_ms=ends_at_ms))
    of_session = portal_views.c.session_sha256 == before  # an operator's look goes on
    tx.execute(portal_views.update().where(of_session).values(session_sha256=row["sha256"]))
    return rotated


def record_session_use(tx: Connection, secret: str, *, now_ms: int) -> None:
    """Writes down that a session is in use, so that it does not end for having been idle. It does
    nothing if that was written down less than a minute ago.
    """
    columns = user_sessions.c
    last, idle = columns.began_at_ms + SESSION_MS, sa.literal(now_ms + IDLE_MS, sa.BigInteger)
    tx.execute(
        user_sessions.update()
        .where(
            columns.sha256 == digest(secret),
            columns.expires_at_ms > now_ms,
            columns.seen_at_ms <= now_ms - SEEN_EVERY_MS,
            ~columns.is_replaced,
            ~columns.is_ended_by_role,
        )
        .values(
            seen_at_ms=now_ms,
            expires_at_ms=sa.case((last < idle, last), else_=idle),
        )
    )


def end_session(tx: Connection, secret: str) -> None:
    """Ends a session. It does nothing if there is none."""
    columns = user_sessions.c
    user_id = sa.select(columns.user_id).where(columns.sha256 == digest(secret))
    _end(tx, user_id.scalar_subquery(), columns.sha256 == digest(secret))


def end_session_of(tx: Connection, user_id: str, session_id: str) -> None:
    """Ends the session with this id if it is this user's. It does nothing if there is none."""
    _end(tx, user_id, _is(session_id))


def _end(
    tx: Connection, user_id: str | sa.ScalarSelect[str], which: sa.ColumnElement[bool]
) -> None:
    """Ends sessions of a user, with every row of his or hers that is replaced."""
    columns = user_sessions.c
    tx.execute(
        user_sessions.delete().where(columns.user_id == user_id, which | columns.is_replaced)
    )


def end_other_sessions(tx: Connection, session: Session) -> None:
    """Ends all sessions of the user but this one, and takes back all sign-in links."""
    user_id = session.user.id
    for table in (sign_in_links, waiting_sign_ins):
        tx.execute(table.delete().where(table.c.user_id == user_id))
    tx.execute(user_sessions.delete().where(user_sessions.c.user_id == user_id, ~_is(session.id)))


def _is(session_id: str) -> sa.ColumnElement[bool]:
    try:
        return user_sessions.c.sha256 == bytes.fromhex(session_id)
    except ValueError:
        return sa.false()


def digest(secret: str) -> bytes:
    """Returns what is stored of a secret of a link or a session."""
    return hashlib.sha256(secret.encode()).digest()
