"""Seals the texts of columns anew when another HELIOGRAPH_SECRET_KEY takes over, and finds those
that cannot be read.

Each room lists its own as `SEALED`.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.secrets import Keys, SecretKeys, SecretUnreadable, decrypt, encrypt

ROWS_AT_ONCE: Final = 500  # in one transaction: around 100 ms


class Cipher(Protocol):
    """Seals with its first key, and reads what any of its keys has sealed."""

    def seal(self, text: str) -> str: ...

    def unseal(self, stored: str) -> str:
        """Returns the plain text of a stored secret. Raises SecretUnreadable."""


class Encrypted:
    """Encrypts texts for one purpose, with `secrets.encrypt`."""

    def __init__(self, keys: Keys, purpose: str) -> None:
        self._keys = keys
        self._purpose = purpose

    def seal(self, text: str) -> str:
        return encrypt(self._keys, self._purpose, text)

    def unseal(self, stored: str) -> str:
        return decrypt(self._keys, self._purpose, stored)


class SealedColumn(NamedTuple):
    """Describes a column of secrets. `name` is what operators call its contents. `rows(now_ms)`
    selects the rows that will still be read.
    """

    name: str
    column: sa.Column[Any]
    cipher: Callable[[Keys], Cipher]
    rows: Callable[[int], sa.ColumnElement[bool]] = lambda now_ms: sa.true()

    @property
    def id(self) -> sa.Column[Any]:
        return next(iter(self.column.table.primary_key))  # each has one of one column


class ResealBatch(NamedTuple):
    """Reports what one batch did. `last` is the id after which the next batch begins; None means
    that this was the end.
    """

    rows: int
    last: Any


def reseal_some(
    tx: Connection, sealed_column: SealedColumn, keys: SecretKeys, after: Any, now_ms: int
) -> ResealBatch:
    """Seals with `keys.sealing` what is under `keys.other`, in one batch of rows past the id
    `after`, or from the first if that is None. What neither key reads stays as it is.
    """
    own, either = sealed_column.cipher(keys.sealing), sealed_column.cipher(keys)
    rows = tx.execute(_query(sealed_column, now_ms, after).limit(ROWS_AT_ONCE)).all()
    count = 0
    for id_, stored in rows:
        if _is_readable(own, stored) or not _is_readable(either, stored):
            continue
        # somebody may have set another one meanwhile
        unchanged = (sealed_column.id == id_) & (sealed_column.column == stored)
        count += tx.execute(
            sa.update(sealed_column.column.table)
            .where(unchanged)
            .values({sealed_column.column: own.seal(either.unseal(stored))})
        ).rowcount
    return ResealBatch(count, id_ if len(rows) == ROWS_AT_ONCE else None)


class Tally(NamedTuple):
    """Counts the sealed texts of one column by whether some keys can read them."""

    readable: int
    unreadable: int


def tally(tx: Connection, place: SealedColumn, keys: Keys, now_ms: int) -> Tally:
    """Counts the column's texts that can be read with these keys, and those that cannot."""
    cipher = place.cipher(keys)
    readable = [
        _is_readable(cipher, stored) for _, stored in tx.execute(_query(place, now_ms, None))
    ]
    return Tally(sum(readable), len(readable) - sum(readable))


def _query(place: SealedColumn, now_ms: int, after: Any) -> sa.Select[Any]:
    query = (
        sa.select(place.id, place.column)
        .where(place.column.is_not(None), place.rows(now_ms))
        .order_by(place.id)
    )
    return query if after is None else query.where(place.id > after)


def _is_readable(cipher: Cipher, stored: str) -> bool:
    try:
        cipher.unseal(stored)
    except SecretUnreadable:
        return False
    return True
