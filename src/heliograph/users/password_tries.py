"""Guessing passwords is slowed down, and the user who is guessed at is not locked out.

Tries are counted by the address that they come from and by the user whom they aim at. A browser
that its user has signed in with before is known by a cookie: its tries count for itself alone. So
whoever guesses stops other strangers, and not the user.
"""

import hashlib
import ipaddress
import secrets
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.errors import RateLimited
from heliograph.users.newest_rows import make_room
from heliograph.users.tables import known_browsers, password_tries, users
from heliograph.users.user import fold_email

WINDOW_MS: Final = 15 * 60_000
# in a window
TRIES_OF_USER_MAX: Final = 10
TRIES_OF_BROWSER_MAX: Final = 10
TRIES_OF_ADDRESS_MAX: Final = 50  # a whole office may come from one
# of an authenticator app, by somebody whose password or link was right: of a million codes three
# are right at a time, so guessing for a day gets through once in 700
CODES_OF_USER_MAX: Final = 5
CODES_OF_BROWSER_MAX: Final = 10
MAILS_OF_USER_MAX: Final = 5
MAILS_OF_ADDRESS_MAX: Final = 50
INVITATIONS_OF_ACCOUNT_MAX: Final = 100
# in an hour
SIGN_UPS_OF_ADDRESS_MAX: Final = 10  # a class of students may come from one
SIGN_UPS_OF_NETWORK_MAX: Final = 100  # of what one customer of a provider can easily have
# of all: mail to strangers, which must not look like spam. Ten networks reach it, not one.
SIGN_UPS_MAX: Final = 1_000
BROWSER_KNOWN_MS: Final = 180 * DAY_MS
BROWSERS_MAX: Final = 20  # of a user; the one that was not used for longest goes first
_SECRET_OCTETS: Final = 32
_NETWORK_BITS: Final = 64  # of IPv6, what one customer of a network has
# what one site gets (RFC 6177), and the smallest network that is announced (of IPv4)
_SITE_BITS: Final = {4: 24, 6: 48}

# of a window that is over, nothing counts any more
_COUNT: Final = sa.text(
    """
    INSERT INTO password_tries (sha256, tries, until_ms) VALUES (:sha256, 1, :ends_ms)
    ON CONFLICT (sha256) DO UPDATE SET
        tries = CASE WHEN password_tries.until_ms <= :now_ms THEN 1
            ELSE password_tries.tries + 1 END,
        until_ms = CASE WHEN password_tries.until_ms <= :now_ms THEN :ends_ms
            ELSE password_tries.until_ms END
    RETURNING tries, until_ms"""
)


class TooManyTries(RateLimited):
    """There were too many tries. Wait a few minutes, or come in by a link."""

    reason = "too_many_tries"


class TooManyCodes(RateLimited):
    """There were too many wrong codes. Wait a few minutes, or use a recovery code."""

    reason = "too_many_codes"


class TooManyMails(RateLimited):
    """There were too many mails in a short time. Wait a few minutes."""

    reason = "too_many_mails"


class Guesser(NamedTuple):
    """Says who tries a password: whose it should be, from which address, and with which browser's
    secret. An address and a secret may be unknown, and are empty then.
    """

    email: str
    address: str
    browser: str


def count_try(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Counts a try before it is judged, so that tries at the same time count, too.

    Raises TooManyTries.
    """
    for about, most in _counters(tx, guesser, now_ms):
        _require_fewer(tx, about, most, now_ms, TooManyTries)


def count_code(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Counts a code of an authenticator app before it is judged, like a password, but apart from
    passwords: any stranger can try a password, but only somebody whose password or link was right
    can try a code.

    Raises TooManyCodes.
    """
    for about, most in _code_counters(tx, guesser, now_ms):
        _require_fewer(tx, about, most, now_ms, TooManyCodes)


def forget_codes(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Forgets the counted codes of a user who has given the right one."""
    counted = [about for about, _ in _code_counters(tx, guesser, now_ms)]
    tx.execute(password_tries.delete().where(password_tries.c.sha256.in_(counted)))


def count_mail(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Counts a link that is asked for, by the address that it comes from and the user whom it is
    for, whether there is one or not.

    Raises TooManyMails.
    """
    for about, most in (
        (_about("mails from", _network(guesser.address)), MAILS_OF_ADDRESS_MAX),
        (_about("mails to", guesser.email), MAILS_OF_USER_MAX),
    ):
        _require_fewer(tx, about, most, now_ms, TooManyMails)


def count_sign_up(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Counts a request for an account: by the client's address, by the network of that, for all
    clients together, and by the email address. A refused request does not count if the caller rolls
    back; so whoever is refused takes nothing from others.

    Raises TooManyMails.
    """
    for about, most in (
        (_about("sign-ups from", _network(guesser.address)), SIGN_UPS_OF_ADDRESS_MAX),
        (_about("sign-ups of", _site(guesser.address)), SIGN_UPS_OF_NETWORK_MAX),
        (_about("sign-ups", "of all"), SIGN_UPS_MAX),
    ):
        _require_fewer(tx, about, most, now_ms, TooManyMails, HOUR_MS)
    about = _about("mails to", guesser.email)
    _require_fewer(tx, about, MAILS_OF_USER_MAX, now_ms, TooManyMails)


def count_invitation(tx: Connection, account_id: str, email: str, *, now_ms: int) -> None:
    """Counts an invitation, by the account (raw id) and by whom it is for.

    Raises TooManyMails.
    """
    for about, most in (
        (_about("invitations of", account_id), INVITATIONS_OF_ACCOUNT_MAX),
        (_about("mails to", fold_email(email)), MAILS_OF_USER_MAX),
    ):
        _require_fewer(tx, about, most, now_ms, TooManyMails)


def forget_tries(tx: Connection, guesser: Guesser, *, now_ms: int) -> None:
    """Forgets the tries of a user who has given the right password, with the wrong ones of the same
    window. Those of the address stay, or somebody's own password would make room for guesses at
    others.
    """
    of_address = _about("address", _network(guesser.address))
    counted = [about for about, _ in _counters(tx, guesser, now_ms) if about != of_address]
    tx.execute(password_tries.delete().where(password_tries.c.sha256.in_(counted)))


def know_browser(tx: Connection, user_id: str, secret: str, *, now_ms: int) -> str:
    """Writes down that a user has signed in with the browser of this secret. Returns the secret,
    or a new one where it was empty.
    """
    secret = secret or secrets.token_urlsafe(_SECRET_OCTETS)
    columns = known_browsers.c
    is_browser = sa.and_(columns.sha256 == _about("browser", secret), columns.user_id == user_id)
    values: dict[str, Any] = {"expires_at_ms": now_ms + BROWSER_KNOWN_MS}
    if tx.execute(known_browsers.update().where(is_browser).values(**values)).rowcount == 0:
        make_room(tx, known_browsers, user_id, columns.expires_at_ms, BROWSERS_MAX)
        values |= {"sha256": _about("browser", secret), "user_id": user_id}
        tx.execute(known_browsers.insert().values(**values))
    return secret


def forget_browsers(tx: Connection, user_id: str) -> None:
    """Forgets all browsers that a user has signed in with."""
    tx.execute(known_browsers.delete().where(known_browsers.c.user_id == user_id))


def _counters(tx: Connection, guesser: Guesser, now_ms: int) -> list[tuple[bytes, int]]:
    """Returns by what a try is counted, and up to how often, in an order that is always the same,
    so that two transactions never wait for each other.
    """
    if _is_known(tx, guesser, now_ms):
        return [(_about("browser", f"{guesser.browser} {guesser.email}"), TRIES_OF_BROWSER_MAX)]
    return [
        (_about("address", _network(guesser.address)), TRIES_OF_ADDRESS_MAX),
        (_about("user", guesser.email), TRIES_OF_USER_MAX),
    ]


def _code_counters(tx: Connection, guesser: Guesser, now_ms: int) -> list[tuple[bytes, int]]:
    """Returns by what a code is counted, and up to how often."""
    if _is_known(tx, guesser, now_ms):
        about = _about("codes of browser", f"{guesser.browser} {guesser.email}")
        return [(about, CODES_OF_BROWSER_MAX)]
    return [(_about("codes of", guesser.email), CODES_OF_USER_MAX)]


def _is_known(tx: Connection, guesser: Guesser, now_ms: int) -> bool:
    """Returns whether the user has signed in with this browser before."""
    if not guesser.browser:
        return False
    columns = known_browsers.c
    query = (
        sa.select(columns.user_id)
        .join(users, users.c.id == columns.user_id)
        .where(
            columns.sha256 == _about("browser", guesser.browser),
            columns.expires_at_ms > now_ms,
            users.c.email == guesser.email,
        )
    )
    return tx.execute(query).first() is not None


def _require_fewer(
    tx: Connection,
    about: bytes,
    most: int,
    now_ms: int,
    refusal: type[RateLimited],
    window_ms: int = WINDOW_MS,
) -> None:
    tries, until_ms = _count(tx, about, now_ms, window_ms)
    if tries > most:
        raise refusal(retry_after_s=-(-(until_ms - now_ms) // 1_000))


def _count(tx: Connection, about: bytes, now_ms: int, window_ms: int) -> tuple[int, int]:
    """Counts a try, and returns how many there were in this window, and when it ends."""
    given = {"sha256": about, "now_ms": now_ms, "ends_ms": now_ms + window_ms}
    row = tx.execute(_COUNT, given).one()
    return row.tries, row.until_ms


def _network(address: str) -> str:
    """Returns what an address belongs to: itself, or for IPv6 the network of its customer."""
    return _network_of(address, {4: 32, 6: _NETWORK_BITS})


def _site(address: str) -> str:
    """Returns the larger network that an address belongs to: whoever has one of its addresses may
    well have others.
    """
    return _network_of(address, _SITE_BITS)


def _network_of(address: str, bits: Mapping[int, int]) -> str:
    """Returns the network of so many bits, for each version. It is empty for no address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(ipaddress.ip_network((found, bits[found.version]), strict=False))


def _about(kind: str, value: str) -> bytes:
    return hashlib.sha256(f"{kind} {value}".encode()).digest()
