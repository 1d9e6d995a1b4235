"""Finds out from an Authorization header who is calling: the SHA-256 of the key is looked up in the
cached configuration.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.states import ACTIVE
from heliograph.accounts.tables import accounts
from heliograph.base import clock
from heliograph.base.errors import Unauthorized
from heliograph.database.cache import CachedKind, ConfigCache
from heliograph.keys.issue import is_well_formed
from heliograph.keys.malformed_header import explain_malformed
from heliograph.keys.tables import api_keys, tiers

# "Bearer " and a key of 56 characters; anything longer is no key of ours
AUTHORIZATION_OCTETS_MAX: Final = 128


@dataclass(frozen=True, slots=True)
class Principal:
    """Says who is calling. The mode is the key's; every query is limited to this account
    and mode.
    """

    key_id: str
    account_id: str  # raw
    sandbox: bool
    permissions: frozenset[str]
    per_minute: int
    expires_at_ms: int | None
    key_prefix: str
    suspended: bool  # the account, or the partner it belongs to
    is_customer: bool  # the account is a partner's Connect customer
    country_code: str  # the account's own


class MissingKey(Unauthorized):
    """Send the API key in the header: Authorization: Bearer <API_KEY>."""

    reason = "missing_key"


def bearer_key(headers: list[tuple[bytes, bytes]]) -> str:
    """Returns the key of the one Authorization header. Raises MissingKey when there is none,
    Unauthorized when it cannot be a key.
    """
    given = [value for name, value in headers if name == b"authorization"]
    if not given:
        raise MissingKey(explain_malformed(headers, AUTHORIZATION_OCTETS_MAX))
    scheme, _, key = given[0].partition(b" ")
    if len(given) > 1 or len(given[0]) > AUTHORIZATION_OCTETS_MAX or scheme.lower() != b"bearer":
        raise Unauthorized(explain_malformed(headers, AUTHORIZATION_OCTETS_MAX))
    text = key.decode("latin-1").strip(" ")
    if not text:
        raise MissingKey(explain_malformed(headers, AUTHORIZATION_OCTETS_MAX))
    return text


async def authenticate(cache: ConfigCache, headers: list[tuple[bytes, bytes]]) -> Principal:
    """Returns who calls, by the API key in the headers. Raises Unauthorized for a missing,
    malformed, unknown, revoked or expired key (one reason: a stranger learns nothing).
    """
    key = bearer_key(headers)
    digest = hashlib.sha256(key.encode()).digest()
    principal = cache.peek(PRINCIPALS, digest)
    # a key that does not have the form of ours is not looked for in the database
    if principal is None and is_well_formed(key):
        principal = await cache.get(PRINCIPALS, digest)
    if principal is None or (
        principal.expires_at_ms is not None and principal.expires_at_ms <= clock.now_ms()
    ):
        raise Unauthorized(
            None if is_well_formed(key) else explain_malformed(headers, AUTHORIZATION_OCTETS_MAX)
        )
    return principal


def _load(tx: Connection, digests: Sequence[bytes]) -> dict[bytes, Principal]:
    parent = accounts.alias("parent")
    suspended = sa.or_(
        accounts.c.status != ACTIVE, sa.func.coalesce(parent.c.status, ACTIVE) != ACTIVE
    )
    rows = tx.execute(
        sa.select(
            api_keys.c.sha256,
            api_keys.c.id,
            api_keys.c.account_id,
            api_keys.c.sandbox,
            api_keys.c.permissions,
            tiers.c.per_minute,
            api_keys.c.expires_at_ms,
            api_keys.c.prefix,
            suspended.label("suspended"),
            accounts.c.parent_id.is_not(None).label("is_customer"),
            accounts.c.country_code,
        )
        .join(accounts, accounts.c.id == api_keys.c.account_id)
        .join(tiers, tiers.c.name == api_keys.c.tier)
        .outerjoin(parent, parent.c.id == accounts.c.parent_id)
        .where(api_keys.c.sha256.in_(digests), api_keys.c.revoked_at_ms.is_(None))
    )
    return {
        bytes(row.sha256): Principal(
            row.id,
            row.account_id,
            row.sandbox,
            permissions=frozenset(row.permissions.split(",")),
            per_minute=row.per_minute,
            expires_at_ms=row.expires_at_ms,
            key_prefix=row.prefix,
            suspended=bool(row.suspended),
            is_customer=bool(row.is_customer),
            country_code=row.country_code,
        )
        for row in rows
    }


PRINCIPALS: Final = CachedKind("key", _load)  # by the SHA-256 of the key
