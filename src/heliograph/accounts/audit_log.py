"""Keeps the audit log of an account: it says which change a person or a program made, and when.

An entry is written in the transaction of its change, so none is missing and none tells of a change
that was not made. What takes several transactions, such as a file, has its entry before or after
them, or each of its transactions says in one entry what was changed so far. Sending texts is no
change: the log of messages tells of it. What a program changes in great numbers has one entry an
hour, which counts.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from heliograph.accounts.tables import AUTHOR_NAME_MAX, DETAIL_MAX, audit_log
from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import shorten
from heliograph.database.pruning import PruningRule

COUNTED_MS: Final = 3_600_000  # what one entry counts: of a day there are 24 for each action
COUNTED: Final = "{} in the hour from this time"
# a year, and as long as it takes to look back on it
AUDIT_KEPT_MS: Final = 400 * DAY_MS
AUDIT_KEPT: Final = (PruningRule(audit_log.name, "id", AUDIT_KEPT_MS, is_counts=True),)

OPERATOR_NAME: Final = "the operator"  # as an account is told who it was


class AuthorKind(StrEnum):
    """Says whether a person of the account, a program, or an operator of the service made a
    change.
    """

    USER = "user"
    KEY = "key"
    OPERATOR = "operator"


class Author(NamedTuple):
    """Says who made a change. `id` is raw, a user's or a key's. `name` is the user's address, or
    what the key begins with.
    """

    kind: AuthorKind
    id: str
    name: str


class AuditEntry(NamedTuple):
    """Tells of one change. `action` is the kind of record and what was done to it, such as
    `key.revoke`. `record` is the text id of what was changed, if it has one. `detail` is for
    people; it holds no secret, no text of a message and no phone number.
    """

    action: str
    record: str | None = None
    detail: str | None = None


class StoredEntry(NamedTuple):
    """Holds an entry as it is stored. `id` is raw."""

    id: str
    author: Author
    entry: AuditEntry

    @property
    def at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


def write(
    tx: Connection, account_id: str, author: Author, entry: AuditEntry, *, now_ms: int
) -> str:
    """Stores that `author` has made a change to an account (raw id) or to what it owns. Returns the
    raw id of the entry.
    """
    row = _row(ids.new_number(now_ms), account_id, author, entry)
    tx.execute(audit_log.insert().values(row))
    return str(row["id"])


def write_detail(tx: Connection, entry_id: str, detail: str) -> None:
    """Says in an entry (raw id) what was changed so far, by a change that goes on in another
    transaction.
    """
    it = audit_log.c.id == entry_id
    tx.execute(audit_log.update().where(it).values(detail=shorten(detail, DETAIL_MAX - 1)))


def write_counted(
    tx: Connection, account_id: str, author: Author, entry: AuditEntry, *, now_ms: int
) -> None:
    """Stores what `write` does, for changes that a program makes in great numbers: the first one of
    an hour (UTC) has an entry, and further ones of the same author and action are counted in it.
    It then names no record. Its time is the beginning of the hour.
    """
    identity = f"{account_id} {author.kind.value} {author.id} {entry.action}".encode()
    hour_ms = now_ms - now_ms % COUNTED_MS
    number = ids.number_by_digest(hour_ms, hashlib.sha256(identity).digest())
    row = _row(number, account_id, author, entry._replace(detail=COUNTED.format(1)))
    if _count_one_more(tx, row["id"]):
        return
    try:
        with tx.begin_nested():
            tx.execute(audit_log.insert().values(row))
    except IntegrityError:  # another request of the same key was faster
        _count_one_more(tx, row["id"])


def _count_one_more(tx: Connection, entry_id: str) -> bool:
    """Counts a change in the entry with this raw id. Returns whether there is one."""
    it = audit_log.c.id == entry_id
    counted = tx.execute(sa.select(audit_log.c.detail).where(it).with_for_update()).scalar()
    if counted is None:
        return False
    times = int(counted.partition(" ")[0]) + 1
    tx.execute(audit_log.update().where(it).values(record=None, detail=COUNTED.format(times)))
    return True


def _row(number: int, account_id: str, author: Author, entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": ids.raw_of_number(number),
        "account_id": account_id,
        "author_kind": author.kind.value,
        "author_id": author.id,
        # `shorten` adds a sign of its own
        "author_name": shorten(author.name, AUTHOR_NAME_MAX - 1),
        "action": entry.action,
        "record": entry.record,
        "detail": None if entry.detail is None else shorten(entry.detail, DETAIL_MAX - 1),
    }


def page(
    tx: Connection,
    account_id: str,
    page: PageWanted,
    *,
    kind: AuthorKind | None = None,
) -> Sequence[StoredEntry]:
    """Returns one page of the entries of an account (raw id), newest first. `kind` selects those of
    people, or of programs.
    """
    query = (
        sa.select(audit_log)
        .where(audit_log.c.account_id == account_id)
        .order_by(audit_log.c.id.desc())
        .limit(page.limit)
    )
    if page.before is not None:
        query = query.where(audit_log.c.id < page.before)
    if kind is not None:
        query = query.where(audit_log.c.author_kind == kind.value)
    return [
        StoredEntry(
            row.id,
            Author(AuthorKind(row.author_kind), row.author_id, row.author_name),
            AuditEntry(row.action, row.record, row.detail),
        )
        for row in tx.execute(query)
    ]
