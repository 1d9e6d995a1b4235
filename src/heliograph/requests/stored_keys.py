"""Stores Idempotency-Keys: this says what a key is known by, how long it counts, and what becomes
of a request whose key was used before (docs/api.md, "Idempotency"). All statements that write them
are here; ordinary POSTs, sends and verifications of one-time passwords use these.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import sqlalchemy as sa
from msgspec.structs import asdict
from sqlalchemy.engine import Connection

from heliograph.base.errors import Conflict
from heliograph.database.hot import HotTx
from heliograph.database.pruning import PruningRule
from heliograph.database.statements import (
    BigInt,
    Bool,
    Bytes,
    Id,
    Insert,
    Row,
    SharingStatement,
    Text,
    rows_by_key,
)
from heliograph.requests.tables import idempotency_keys

KEPT_MS: Final = 72 * 3_600_000
KEYS_KEPT: Final = (PruningRule(idempotency_keys.name, "created_at_ms", KEPT_MS),)

ResponseT = TypeVar("ResponseT")


class ScopedKey(Row, frozen=True):
    """Identifies a stored Idempotency-Key, which counts within an account, a mode and a path.
    `account_id` is raw, and that of the account whose API key was used; or of the user whose form
    it is, if that is of no account. `path` is method and path, such as `POST /sms/send`.
    """

    account_id: Id
    sandbox: Bool
    path: Text
    key: Text


class StoredKey(Row, frozen=True):
    """Holds a used Idempotency-Key, with the hash of its request's body. A repeated send is
    answered from the send `send_id`, any other request with `answer`, which is JSON.
    """

    account_id: Id
    sandbox: Bool
    path: Text
    key: Text
    body_sha256: Bytes
    created_at_ms: BigInt
    send_id: Id | None = None
    answer: Text | None = None

    @property
    def scoped(self) -> ScopedKey:
        return ScopedKey(self.account_id, self.sandbox, self.path, self.key)


class _KeysSince(Row, frozen=True):
    since_ms: BigInt


_COLUMNS: Final = ", ".join(f"k.{name}" for name in StoredKey.__struct_fields__)
_OF_SCOPE: Final = rows_by_key(
    idempotency_keys.name,
    "*",
    account_id="g.account_id",
    sandbox="g.sandbox",
    path="g.path",
    key="g.key",
)
_FIND_KEYS: Final = SharingStatement(
    ScopedKey,
    _KeysSince,
    StoredKey,
    postgresql=f"""
        SELECT {_COLUMNS} FROM :given AS g, LATERAL {_OF_SCOPE} AS k
        WHERE k.created_at_ms > :since_ms""",
    sqlite=f"""
        SELECT {_COLUMNS} FROM idempotency_keys k
        WHERE k.account_id = :account_id AND k.sandbox = :sandbox AND k.path = :path
            AND k.key = :key AND k.created_at_ms > :since_ms""",
)
# A key that is too old to count is used again. One that still counts stays as it is, and its row is
# not returned by RETURNING.
INSERT_KEYS: Final = Insert(
    idempotency_keys.name,
    StoredKey,
    f"""
    ON CONFLICT (account_id, sandbox, path, key) DO UPDATE SET
        body_sha256 = excluded.body_sha256, created_at_ms = excluded.created_at_ms,
        send_id = excluded.send_id, answer = excluded.answer
    WHERE idempotency_keys.created_at_ms <= excluded.created_at_ms - {KEPT_MS}""",
)


def sha256_of_body(body: bytes) -> bytes:
    """Returns what is stored of a request's body, to know an equal one by."""
    return hashlib.sha256(body).digest()


def refusal_to_replay(first_sha256: bytes, new_sha256: bytes) -> Conflict | None:
    """Returns the refusal of a request whose body differs from that of the one that used its key
    first, or None if it gets that one's response.
    """
    return None if first_sha256 == new_sha256 else Conflict()


class UsedKeys(Generic[ResponseT]):
    """Holds the keys that were used before a batch, or so far within it, each with its response."""

    def __init__(self) -> None:
        self._used: dict[ScopedKey, tuple[bytes, ResponseT]] = {}

    def copy(self) -> "UsedKeys[ResponseT]":
        copied: UsedKeys[ResponseT] = UsedKeys()
        copied._used = self._used.copy()
        return copied

    def add(self, scoped_key: ScopedKey, sha256: bytes, response: ResponseT) -> None:
        """Notes that a key was used, or that the batch uses it."""
        self._used[scoped_key] = (sha256, response)

    def replay(self, scoped_key: ScopedKey | None, sha256: bytes) -> ResponseT | Conflict | None:
        """Returns the response to a request whose key was used, or why it is refused. It returns
        None if the request brings no key, or one that was not used, and is to be carried out.
        """
        found = None if scoped_key is None else self._used.get(scoped_key)
        if found is None:
            return None
        first_sha256, response = found
        return refusal_to_replay(first_sha256, sha256) or response


async def find_keys(tx: HotTx, scoped_keys: Sequence[ScopedKey], now_ms: int) -> list[StoredKey]:
    """Returns those of these keys that were used and still count."""
    return await _FIND_KEYS.rows_with(tx, scoped_keys, _KeysSince(now_ms - KEPT_MS))


def find_key(tx: Connection, scoped_key: ScopedKey, now_ms: int) -> StoredKey | None:
    """Returns the key as it was used, if it was and still counts; in an ordinary transaction."""
    columns = idempotency_keys.c
    row = tx.execute(
        sa.select(*(columns[name] for name in StoredKey.__struct_fields__)).where(
            _at(scoped_key), columns.created_at_ms > now_ms - KEPT_MS
        )
    ).one_or_none()
    return None if row is None else StoredKey(**row._asdict())


def insert_key(tx: Connection, key: StoredKey) -> None:
    """Stores a key before its request has been carried out. Raises IntegrityError when there is a
    row of it already.
    """
    tx.execute(idempotency_keys.insert().values(asdict(key)))


def keep_response(tx: Connection, scoped_key: ScopedKey, response: str) -> None:
    """Stores the response to the request that has used the key."""
    tx.execute(idempotency_keys.update().where(_at(scoped_key)).values(answer=response))


def free_key(tx: Connection, scoped_key: ScopedKey) -> None:
    """Deletes the key, so that it can be used again."""
    tx.execute(idempotency_keys.delete().where(_at(scoped_key)))


def free_old_key(tx: Connection, scoped_key: ScopedKey, now_ms: int) -> None:
    """Deletes the key if it is too old to count."""
    tx.execute(
        idempotency_keys.delete().where(
            _at(scoped_key), idempotency_keys.c.created_at_ms <= now_ms - KEPT_MS
        )
    )


def _at(scoped_key: ScopedKey) -> sa.ColumnElement[bool]:
    return sa.and_(
        *(idempotency_keys.c[name] == value for name, value in asdict(scoped_key).items())
    )
