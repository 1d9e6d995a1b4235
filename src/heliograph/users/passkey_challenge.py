"""Makes what a passkey signs, so that an answer counts here, now and once.

A challenge carries its end and a code of its own (HMAC), so asking for one stores nothing. It is
bound to what it is for, and to the browser that asked. It is stored when it has been answered.
"""

import hashlib
import hmac
import secrets
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.secrets import Keys, derived_key, keys_of

CHALLENGE_MS: Final = 10 * 60_000  # enough to look for the phone that has the passkey
_RANDOM_OCTETS: Final = 16  # WebAuthn, section 13.4.3
_END_OCTETS: Final = 8
_SAID_OCTETS: Final = _RANDOM_OCTETS + _END_OCTETS
_PURPOSE: Final = "passkey challenge"
_USE: Final = sa.text(
    """
    INSERT INTO used_challenges (sha256, expires_at_ms) VALUES (:sha256, :expires_at_ms)
    ON CONFLICT (sha256) DO NOTHING"""
)


def new_challenge(keys: Keys, bound_to: str, *, now_ms: int) -> bytes:
    """Returns a new challenge, for what `bound_to` says."""
    end = (now_ms + CHALLENGE_MS).to_bytes(_END_OCTETS, "big")
    content = secrets.token_bytes(_RANDOM_OCTETS) + end
    return content + _code(keys_of(keys)[0], bound_to, content)


def is_ours(keys: Keys, bound_to: str, challenge: bytes, *, now_ms: int) -> bool:
    """Returns whether `new_challenge` has made this one for the same, and it has not ended."""
    content, code = (
        challenge[: _RANDOM_OCTETS + _END_OCTETS],
        challenge[_RANDOM_OCTETS + _END_OCTETS :],
    )
    is_made_here = any(
        hmac.compare_digest(_code(key, bound_to, content), code) for key in keys_of(keys)
    )
    return is_made_here and now_ms < _end_of(challenge)


def use(tx: Connection, challenge: bytes) -> bool:
    """Uses a challenge up. Returns whether it was not used before."""
    row = {
        "sha256": hashlib.sha256(challenge).digest(),
        "expires_at_ms": _end_of(challenge),
    }
    return tx.execute(_USE, row).rowcount == 1


def _end_of(challenge: bytes) -> int:
    return int.from_bytes(challenge[_RANDOM_OCTETS:_SAID_OCTETS], "big")


def _code(secret_key: str, bound_to: str, content: bytes) -> bytes:
    key = derived_key(secret_key, _PURPOSE)
    return hmac.new(key, content + bound_to.encode(), hashlib.sha256).digest()
