"""The canary tells which HELIOGRAPH_SECRET_KEY a database's secrets are under: it is a text sealed
with that key, which no other key can read.

While one key replaces another, `sealed` is under the key in use, and `former` under the one before
until everything has been sealed anew.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.secrets import Keys, SecretKeys, SecretUnreadable, decrypt, encrypt, keys_of
from heliograph.base.setting_error import SettingError
from heliograph.database import config
from heliograph.database.database import metadata

secret_canary = sa.Table(
    "secret_canary",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "sealed",
        sa.Text,
        nullable=False,
        comment="with the secret key in use: who cannot read it has another one",
    ),
    sa.Column(
        "former",
        sa.Text,
        nullable=True,
        comment="likewise with the key before, while anything may be sealed with it",
    ),
    sa.Column("since_ms", sa.BigInteger, nullable=False, comment="when the key came into use"),
    sa.CheckConstraint("id = 1", name="secret_canary_id"),
)

_PURPOSE: Final = "canary"
_TEXT: Final = "This database's secrets are sealed with this key."
_MAKE: Final = sa.text("""
        INSERT INTO secret_canary (id, sealed, since_ms) VALUES (1, :sealed, :now_ms)
            ON CONFLICT DO NOTHING""")


class Canary(NamedTuple):
    """Holds the row as it is stored."""

    sealed: str
    former: str | None
    since_ms: int


def load(tx: Connection, *, shared: bool = False, locked: bool = False) -> Canary | None:
    """Returns the row, or None when nobody has begun with a key yet. With `shared`, nobody replaces
    the key while the transaction lasts; with `locked`, it is to be replaced.
    """
    query = sa.select(secret_canary.c.sealed, secret_canary.c.former, secret_canary.c.since_ms)
    if shared or locked:
        query = query.with_for_update(read=shared)
    row = tx.execute(query).one_or_none()
    return None if row is None else Canary(**row._asdict())


def is_made_with(sealed: str, secret_key: str) -> bool:
    """Says whether the canary was sealed with this key."""
    try:
        return decrypt(secret_key, _PURPOSE, sealed) == _TEXT
    except SecretUnreadable:
        return False


@lru_cache(16)
def in_use(canary: Canary, keys: Keys) -> Keys:
    """Returns the keys with the one in use first, so that it seals. Raises SettingError when it is
    none of them, and when the key before is still needed and missing.
    """
    mine = [key for key in keys_of(keys) if is_made_with(canary.sealed, key)]
    if not mine:
        raise SettingError(
            "HELIOGRAPH_SECRET_KEY",
            "a key that cannot read this database's secrets",
            "the key that they were stored with; while a new key replaces it, the new one here and"
            " the former one as HELIOGRAPH_SECRET_KEY_OLD",
        )
    others = [key for key in keys_of(keys) if key not in mine]
    if canary.former is not None and not any(is_made_with(canary.former, key) for key in others):
        raise SettingError(
            "HELIOGRAPH_SECRET_KEY_OLD",
            "a key that is not the former one" if others else "nothing",
            "the former key, until `heliograph secret rotate` has finished",
        )
    return SecretKeys(mine[0], others[0]) if others else mine[0]


def keys_in_use(tx: Connection, keys: Keys) -> Keys:
    """Returns the keys with the one in use first; it stays so while this transaction lasts. Raises
    SettingError.
    """
    canary = load(tx, shared=True)
    return keys if canary is None else in_use(canary, keys)


def make(tx: Connection, secret_key: str, now_ms: int) -> Canary:
    """Makes this key the database's, unless another process was first. Returns what holds then."""
    tx.execute(_MAKE, {"sealed": encrypt(secret_key, _PURPOSE, _TEXT), "now_ms": now_ms})
    made = load(tx)
    assert made is not None  # either has stored one
    return made


def replace(tx: Connection, secret_key: str, *, former: str | None, now_ms: int) -> None:
    """Brings a key into use. `former` is the canary of the one before, when its secrets are still
    to be sealed anew. Processes know of it within a second.
    """
    tx.execute(
        sa.update(secret_canary).values(
            sealed=encrypt(secret_key, _PURPOSE, _TEXT), former=former, since_ms=now_ms
        )
    )
    config.bump(tx)


def finish(tx: Connection, since_ms: int) -> None:
    """Says that nothing is sealed with the key before any more, unless yet another one has
    come into use since.
    """
    tx.execute(
        sa.update(secret_canary).where(secret_canary.c.since_ms == since_ms).values(former=None)
    )


def exists(tx: Connection) -> bool:
    """Says whether the database has a schema that knows of it."""
    return sa.inspect(tx).has_table(secret_canary.name)
