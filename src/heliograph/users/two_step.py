"""Two-step sign-in asks, after a password or a link, for a code of an authenticator app (TOTP, RFC
6238), or for one of ten recovery codes, each of which counts once.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import pyotp
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.secrets import Keys, SecretUnreadable
from heliograph.base.short_texts import invalid_field
from heliograph.database.sealed_columns import Encrypted, SealedColumn
from heliograph.users.tables import recovery_codes, totps, waiting_sign_ins
from heliograph.users.user import lock

STEP_S: Final = 30  # all apps use it (RFC 6238, section 5.2)
DIGITS: Final = 6
# before and after the present one: clocks of phones differ, and people type (RFC 6238, section 6)
STEPS_BESIDE: Final = 1
RECOVERY_CODES: Final = 10
# 80 random bits: nobody guesses one, so tries are not counted and its hash needs no salt
RECOVERY_CHARACTERS: Final = 16
RANDOM_OCTETS: Final = 32  # that ten of them are made of
ISSUER: Final = "Heliograph"
PURPOSE: Final = "TOTP secret"
_MISREAD: Final = str.maketrans("oil", "011", " -")
_GROUP: Final = 4

SEALED: Final = (
    SealedColumn("authenticator_secrets", totps.c.secret, lambda keys: Encrypted(keys, PURPOSE)),
)


def is_on(tx: Connection, user_id: str) -> bool:
    """Returns whether a code is asked for when this user (raw id) signs in."""
    query = sa.select(totps.c.user_id).where(_is_confirmed(user_id))
    return tx.execute(query).first() is not None


def begin(tx: Connection, keys: Keys, user_id: str, *, now_ms: int) -> None:
    """Makes a secret for an authenticator app. It does not count until `confirm`. Of two that are
    begun at once, the later one stays.

    Raises InvalidRequest if one counts already.
    """
    lock(tx, user_id)  # there is one secret, or none
    if is_on(tx, user_id):
        raise invalid_field("code", "must be turned off before it is set up anew")
    tx.execute(totps.delete().where(totps.c.user_id == user_id))
    tx.execute(
        totps.insert().values(
            user_id=user_id,
            secret=Encrypted(keys, PURPOSE).seal(pyotp.random_base32()),
            made_at_ms=now_ms,
            last_step=0,
        )
    )


def unconfirmed_secret(tx: Connection, keys: Keys, user_id: str) -> str:
    """Returns the secret that `begin` has made, in base32. Raises NotFound if there is none, or
    if it counts already, for then it is shown to nobody any more.
    """
    query = sa.select(totps.c.secret).where(
        totps.c.user_id == user_id, totps.c.confirmed_at_ms.is_(None)
    )
    stored = tx.execute(query).scalar()
    if stored is None:
        raise NotFound("No authenticator app is being set up.")
    return Encrypted(keys, PURPOSE).unseal(stored)


def address_for_app(secret: str, email: str) -> str:
    """Returns the `otpauth:` address that authenticator apps read, from a QR code or a link."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)


def confirm(
    tx: Connection, keys: Keys, user_id: str, code: str, random: bytes | None = None, *, now_ms: int
) -> list[str]:
    """Turns the second step on, if the code shows that the app has the secret. Returns new
    recovery codes, as `new_recovery_codes` does.

    Raises InvalidRequest for a wrong code, and NotFound.
    """
    lock(tx, user_id)  # there is one secret, or none
    step = _step_of(unconfirmed_secret(tx, keys, user_id), code, now_ms)
    if step is None:
        raise invalid_field(
            "code", f"must be the {DIGITS} digits that the app shows now, not {quote_value(code)}"
        )
    tx.execute(
        totps.update()
        .where(totps.c.user_id == user_id, totps.c.confirmed_at_ms.is_(None))
        .values(confirmed_at_ms=now_ms, last_step=step)
    )
    return new_recovery_codes(tx, user_id, random)


def turn_off(tx: Connection, user_id: str) -> None:
    """Turns the authenticator app off: deletes its secret and the recovery codes. It does nothing
    where none is set up.
    """
    for table in (recovery_codes, totps, waiting_sign_ins):  # the order of who signs in
        tx.execute(table.delete().where(table.c.user_id == user_id))


def new_recovery_codes(tx: Connection, user_id: str, random: bytes | None = None) -> list[str]:
    """Returns ten recovery codes, in place of those before. Only their hashes are stored. They are
    made of `random`, if that is given (`written_codes`).

    Raises NotFound where no code is asked for.
    """
    if not is_on(tx, user_id):
        raise NotFound("No authenticator app is set up.")
    tx.execute(recovery_codes.delete().where(recovery_codes.c.user_id == user_id))
    codes = written_codes(secrets.token_bytes(RANDOM_OCTETS) if random is None else random)
    rows = [{"sha256": _hash(_read_recovery_code(code)), "user_id": user_id} for code in codes]
    tx.execute(recovery_codes.insert(), rows)
    return codes


def written_codes(random: bytes) -> list[str]:
    """Returns the ten recovery codes that these 32 random octets make, as they are written."""
    return [
        _written(hmac.digest(random, bytes([place]), "sha256")) for place in range(RECOVERY_CODES)
    ]


def _written(random: bytes) -> str:
    # a character is one of 32, so each octet's remainder is as likely as every other one
    code = "".join(ids.ALPHABET[each % len(ids.ALPHABET)] for each in random[:RECOVERY_CHARACTERS])
    return "-".join(code[start : start + _GROUP] for start in range(0, RECOVERY_CHARACTERS, _GROUP))


def any_counts(tx: Connection, user_id: str, codes: Sequence[str]) -> bool:
    """Returns whether any of these recovery codes still signs this user (raw id) in."""
    hashes = [_hash(_read_recovery_code(code)) for code in codes]
    is_one = recovery_codes.c.sha256.in_(hashes) & (recovery_codes.c.user_id == user_id)
    return tx.execute(sa.select(recovery_codes.c.sha256).where(is_one).limit(1)).first() is not None


def recovery_codes_left(tx: Connection, user_id: str) -> int:
    """Returns how many recovery codes of a user were not used."""
    query = sa.select(sa.func.count()).where(recovery_codes.c.user_id == user_id)
    return tx.execute(query).scalar_one()


def is_recovery_code(text: str) -> bool:
    """Returns whether this may be a recovery code, which nobody guesses."""
    return len(_read_recovery_code(text)) == RECOVERY_CHARACTERS


def use(tx: Connection, keys: Keys, user_id: str, code: str, *, now_ms: int) -> bool:
    """Returns whether this is a code of the user's app, or one of the recovery codes, that was not
    used before. From then on it counts as used: of two requests with the same code at the same
    time, one gets through.
    """
    if is_recovery_code(code):
        is_code = recovery_codes.c.sha256 == _hash(_read_recovery_code(code))
        deletion = recovery_codes.delete().where(is_code, recovery_codes.c.user_id == user_id)
        return tx.execute(deletion).rowcount == 1
    row = tx.execute(sa.select(totps.c.secret).where(_is_confirmed(user_id))).first()
    if row is None:
        return False
    step = None
    with suppress(SecretUnreadable):  # then only a recovery code is right
        step = _step_of(Encrypted(keys, PURPOSE).unseal(row.secret), code, now_ms)
    if step is None:
        return False
    update = totps.update().where(_is_confirmed(user_id), totps.c.last_step < step)
    return tx.execute(update.values(last_step=step)).rowcount == 1


def _is_confirmed(user_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(totps.c.user_id == user_id, totps.c.confirmed_at_ms.is_not(None))


def _step_of(secret: str, code: str, now_ms: int) -> int | None:
    """Returns the step of time whose code this is, or None for a wrong code. All are compared, so
    the time that it takes does not tell which.
    """
    given = code.replace(" ", "").encode()
    present = now_ms // (1_000 * STEP_S)
    steps = range(present - STEPS_BESIDE, present + STEPS_BESIDE + 1)
    generator = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_S)
    right = [
        step for step in steps if hmac.compare_digest(generator.generate_otp(step).encode(), given)
    ]
    return right[0] if right else None


def _read_recovery_code(text: str) -> str:
    """Returns a recovery code as it is hashed: with neither spaces nor hyphens, in lower case, and
    with digits in place of the letters that are easily taken for them.
    """
    return text.lower().translate(_MISREAD)


def _hash(code: str) -> bytes:
    return hashlib.sha256(f"recovery code {code}".encode()).digest()
