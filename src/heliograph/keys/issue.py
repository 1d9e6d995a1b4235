"""API keys are made, told from mistyped ones, stored, listed and revoked here (docs/api.md, "API
keys").
"""

import hashlib
import re
import secrets
import zlib
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import clock, ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field, one_line
from heliograph.database import config
from heliograph.keys.permissions import parse_permissions
from heliograph.keys.tables import api_keys
from heliograph.keys.tiers import tier_named

ID_PREFIX: Final = "key"
NAME_MAX: Final = 128
# of a key's characters, to tell one's keys apart: the kind, and four random ones
SHOWN_LENGTH: Final = 12

RANDOM_OCTETS: Final = 20  # 160 bits, in 40 hexadecimal digits
_CHECKSUM_LENGTH: Final = 8  # a CRC-32 in hexadecimal
_IN_TEXT: Final = re.compile(r"sk_(?:live|test)_[0-9A-Za-z]*", re.ASCII)
_FORM: Final = re.compile(r"sk_(?:live|test)_[0-9a-f]{48}", re.ASCII)

# Keys of version 0.1 have 32 base62 characters and a CRC-32 in 6 more; they go on working.
_FORMER_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORMER_CHECKSUM_LENGTH: Final = 6  # 62**6 > 2**32
_FORMER_FORM: Final = re.compile(r"sk_(?:live|test)_[0-9A-Za-z]{38}", re.ASCII)


class ApiKey(NamedTuple):
    """Holds an API key as it is stored, without the key itself. `id` and `account_id` are raw."""

    id: str
    account_id: str
    name: str
    sandbox: bool
    prefix: str
    permissions: tuple[str, ...]
    tier: str
    expires_at_ms: int | None
    revoked_at_ms: int | None
    last_used_at_ms: int | None
    created_at_ms: int


def text_id(key: ApiKey) -> str:
    """Returns the key's id in text form, `key_…`."""
    return ids.text_of_raw(ID_PREFIX, key.id)


class Issued(NamedTuple):
    """Holds a new key, and its text, which is shown this once."""

    record: ApiKey
    key: str


def make_key(sandbox: bool, random: bytes | None = None) -> str:
    """Returns `sk_live_` or `sk_test_`, 40 hexadecimal digits of `random`, or else from the
    system's random source, and 8 of checksum.
    """
    random = secrets.token_bytes(RANDOM_OCTETS) if random is None else random
    assert len(random) == RANDOM_OCTETS
    body = ("sk_test_" if sandbox else "sk_live_") + random.hex()
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Returns whether this can be a key at all. A mistyped or made-up one is refused without
    asking the database.
    """
    if _FORM.fullmatch(key) is not None:
        return _checksum(key[:-_CHECKSUM_LENGTH]) == key[-_CHECKSUM_LENGTH:]
    return (
        _FORMER_FORM.fullmatch(key) is not None
        and _former_checksum(key[:-_FORMER_CHECKSUM_LENGTH]) == key[-_FORMER_CHECKSUM_LENGTH:]
    )


def digest(key: str) -> bytes:
    """Returns what is stored instead of a key. SHA-256 needs no salt and no stretching here: 160
    random bits cannot be guessed.
    """
    return hashlib.sha256(key.encode()).digest()


def _checksum(body: str) -> str:
    """Returns the CRC-32 of what stands before, in lower-case hexadecimal with leading zeros."""
    return f"{zlib.crc32(body.encode()):0{_CHECKSUM_LENGTH}x}"


def _former_checksum(body: str) -> str:
    """Returns the CRC-32 of what stands before in a key of the former form, in base62 with leading
    zeros.
    """
    value = zlib.crc32(body.encode())
    characters = ""
    for _ in range(_FORMER_CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        characters = _FORMER_ALPHABET[digit] + characters
    return characters


def issue(
    tx: Connection,
    account_id: str,
    *,
    name: str,
    sandbox: bool,
    tier: str,
    permissions: Sequence[str],
    expires_at_ms: int | None = None,
    random: bytes | None = None,
    now_ms: int,
) -> Issued:
    """Makes a key, of RANDOM_OCTETS that nobody can guess, if they are given. Whether the account
    may have this tier (`max_tier`) is the caller's to judge: the operator is not held to it.

    Raises NotFound and AccountClosed for the account, InvalidRequest for a name, mode, tier,
    permission or expiry that cannot be.
    """
    accounts.require_mode(accounts.keep_open(tx, account_id), sandbox=sandbox)
    if expires_at_ms is not None and expires_at_ms <= now_ms:
        raise invalid_field(
            "expires_at", f"must lie in the future, not at {clock.rfc3339(expires_at_ms)}"
        )
    key = make_key(sandbox, random)
    record = ApiKey(
        ids.raw_of_number(ids.new_number(now_ms)),
        account_id,
        one_line("name", name, most=NAME_MAX),
        sandbox=sandbox,
        prefix=key[:SHOWN_LENGTH],
        permissions=parse_permissions(",".join(permissions)),
        tier=tier_named(tx, tier).name,
        expires_at_ms=expires_at_ms,
        revoked_at_ms=None,
        last_used_at_ms=None,
        created_at_ms=now_ms,
    )
    config.bump(tx)
    tx.execute(
        api_keys.insert().values(
            record._asdict() | {"permissions": ",".join(record.permissions), "sha256": digest(key)}
        )
    )
    return Issued(record, key)


_COLUMNS: Final = [api_keys.c[name] for name in ApiKey._fields]


def _of_row(row: sa.Row[Any]) -> ApiKey:
    key = ApiKey(**row._asdict())
    stored: Any = key.permissions  # a text, until here
    return key._replace(permissions=tuple(stored.split(",")))


def by_id(tx: Connection, key_id: str) -> ApiKey:
    """Returns the key with this id (raw). Raises NotFound."""
    row = tx.execute(sa.select(*_COLUMNS).where(api_keys.c.id == key_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such key.")
    return _of_row(row)


def find(tx: Connection, text_id: str) -> ApiKey:
    """Returns the key with this id in text form (`key_…`). Raises NotFound."""
    raw = ids.raw_of_text(ID_PREFIX, text_id)
    if raw is None:
        raise NotFound(f"There is no key with the id {quote_value(text_id)}.")
    return by_id(tx, raw)


def is_text_of(tx: Connection, text_id: str, key: str) -> bool:
    """Returns whether `key` is the text of the key with this id in text form (`key_…`). Raises
    NotFound.
    """
    query = sa.select(api_keys.c.sha256).where(api_keys.c.id == find(tx, text_id).id)
    stored: bytes = tx.execute(query).scalar_one()
    return bytes(stored) == digest(key)


def name_of(tx: Connection, key_id: str) -> str:
    """Returns the name of the key with this raw id, which is there: keys are never deleted."""
    query = sa.select(api_keys.c.name).where(api_keys.c.id == key_id)
    name: str = tx.execute(query).scalar_one()
    return name


def page(
    tx: Connection, *, limit: int, account_id: str | None = None, before_id: str | None = None
) -> list[ApiKey]:
    """Returns at most `limit` keys, newest first, revoked ones too: those made before the one
    with the raw id `before_id`. Without an account, it returns everybody's.
    """
    query = sa.select(*_COLUMNS).order_by(api_keys.c.id.desc()).limit(limit)
    if account_id is not None:
        query = query.where(api_keys.c.account_id == account_id)
    if before_id is not None:
        query = query.where(api_keys.c.id < before_id)
    return [_of_row(row) for row in tx.execute(query)]


def names_of(tx: Connection, account_id: str, key_ids: Collection[str]) -> dict[str, str]:
    """Returns the names of those of these keys that are the account's, by their raw ids."""
    query = sa.select(api_keys.c.id, api_keys.c.name)
    of_account = (api_keys.c.account_id == account_id) & api_keys.c.id.in_(key_ids)
    return {row.id: row.name for row in tx.execute(query.where(of_account))}


def with_text(tx: Connection, key: str) -> ApiKey | None:
    """Returns the key that is written so, which is looked for by its digest, or None."""
    if not is_well_formed(key):
        return None
    row = tx.execute(sa.select(*_COLUMNS).where(api_keys.c.sha256 == digest(key))).one_or_none()
    return None if row is None else _of_row(row)


def written_in(text: str) -> str | None:
    """Returns what may be a key, or a large part of one, in a text such as a header. It returns
    None if no more of a key stands there than lists show.
    """
    found = _IN_TEXT.search(text)
    return None if found is None or len(found[0]) <= SHOWN_LENGTH else found[0]


def owners_of(
    tx: Connection, beginning: str, *, limit: int, before_id: str | None = None
) -> list[str]:
    """Returns the newest accounts (raw ids) that have a key with this beginning, as lists show it:
    those made before the one with the raw id `before_id`.
    """
    owner_id = api_keys.c.account_id
    query = sa.select(owner_id).where(api_keys.c.prefix == beginning)
    if before_id is not None:
        query = query.where(owner_id < before_id)
    return list(tx.execute(query.distinct().order_by(owner_id.desc()).limit(limit)).scalars())


def revoke(tx: Connection, key_id: str, *, now_ms: int) -> ApiKey:
    """Revokes a key: it opens nothing from now on, and revoking it again changes nothing. Raises
    NotFound.
    """
    config.bump(tx)
    tx.execute(
        sa.update(api_keys)
        .where(api_keys.c.id == key_id, api_keys.c.revoked_at_ms.is_(None))
        .values(revoked_at_ms=now_ms)
    )
    return by_id(tx, key_id)


def revoke_all(tx: Connection, account_id: str, *, now_ms: int) -> int:
    """Revokes all keys of the account, from now on. Answers how many did until now,
    expired ones among them.
    """
    config.bump(tx)
    is_open = sa.and_(api_keys.c.account_id == account_id, api_keys.c.revoked_at_ms.is_(None))
    return tx.execute(sa.update(api_keys).where(is_open).values(revoked_at_ms=now_ms)).rowcount
