"""A search finds a case-insensitive substring of name, phone, email or tag, newest first
(docs/api.md, "Contacts").
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.contacts.change import fold
from heliograph.contacts.contact import (
    COLUMNS,
    Contact,
    ContactOwner,
    contacts_in,
    of_owner,
    page,
    tags_in,
)
from heliograph.contacts.tables import contact_shelves, contacts
from heliograph.database.reads import records_of

# characters; a query parameter has no more, and no field that is searched has
NEEDLE_MAX: Final = 256
# of a needle that are looked up; each costs some microseconds a bucket, and five leave little to
# look at in vain
GRAMS_MAX: Final = 5
# stands for the bucket's number; in nothing that is searched, as all of that is printable
_BUCKET: Final = "\x01"


class SameTags(NamedTuple):
    """Counts the contacts that have the same tags."""

    tags: tuple[str, ...]
    contacts: int


class _StoredTags(NamedTuple):
    tags: str
    contacts: int


def newest(
    tx: Connection,
    owner: ContactOwner,
    needle: str | None,
    *,
    limit: int,
    before: str | None = None,
) -> list[Contact]:
    """Returns at most `limit` contacts that a search for `needle` finds, or of all if it is None,
    newest first: those made before the one with the raw id `before`.
    """
    if needle is None:
        return page(tx, owner, limit=limit, before=before)
    return search(tx, owner, needle, limit=limit, before=before)


def search(
    tx: Connection, owner: ContactOwner, needle: str, *, limit: int, before: str | None = None
) -> list[Contact]:
    """Returns at most `limit` contacts, newest first: those made before the one with the raw id
    `before`.
    """
    query = _matching(tx, owner, needle, COLUMNS, before)
    if query is None:
        return []
    if before is not None:
        query = query.where(query.selected_columns.id < before)
    return sorted(contacts_in(tx.execute(query.limit(limit))), reverse=True)


def count_by_tags(
    tx: Connection, owner: ContactOwner, needle: str | None, *, most: int
) -> list[SameTags]:
    """Returns how many contacts have the same tags, of those that a search for `needle` finds, or
    of all if it is None. It counts no more than `most` contacts.
    """
    query = (
        sa.select(contacts.c.tags).where(of_owner(owner))
        if needle is None
        else _matching(tx, owner, needle, (contacts.c.tags,))
    )
    if query is None:
        return []
    found = query.limit(most).subquery("found")
    counted = sa.select(found.c.tags, sa.func.count().label("contacts")).group_by(found.c.tags)
    return [
        SameTags(tags_in(stored.tags), stored.contacts)
        for stored in records_of(_StoredTags, tx.execute(counted))
    ]


def _matching(
    tx: Connection,
    owner: ContactOwner,
    needle: str,
    columns: Sequence[sa.ColumnElement[Any]],
    before: str | None = None,
) -> sa.Select[Any] | None:
    """Selects columns of the contacts that a search finds; None if there can be none."""
    wanted = fold(needle)
    if not wanted or "\n" in wanted or _BUCKET in wanted:
        return None  # nothing but joiners; a line's end stands between the fields, and is in none
    if tx.dialect.name == "postgresql":
        return _by_buckets(owner, wanted, columns, before)
    return _one_by_one(owner, wanted, columns)


def _one_by_one(
    owner: ContactOwner, wanted: str, columns: Sequence[sa.ColumnElement[Any]]
) -> sa.Select[Any]:
    """Selects all contacts from the newest on, until there are enough."""
    return (
        sa.select(*columns)
        .where(of_owner(owner), sa.func.instr(contacts.c.searched, wanted) > 0)
        .order_by(contacts.c.id.desc())
    )


def _by_buckets(
    owner: ContactOwner,
    wanted: str,
    columns: Sequence[sa.ColumnElement[Any]],
    before: str | None,
) -> sa.Select[Any]:
    """Searches one bucket after the other, newest first. In each it reads the contacts that the
    index names, newest first, and compares their whole text.

    A nested loop is the only way to carry this out, as the inner query speaks of the outer one's
    row; OFFSET 0 keeps the inner query whole, so that the index is the only way to carry that out.
    So nothing is read beyond what fills the page.
    """
    from sqlalchemy.dialects.postgresql import TSQUERY  # not needed on SQLite, and heavy

    buckets = sa.select(contact_shelves.c.id).where(
        contact_shelves.c.account_id == owner.account_id,
        contact_shelves.c.sandbox.is_(owner.sandbox),
    )
    if before is not None:
        buckets = buckets.where(contact_shelves.c.first_id < before)
    bucket = buckets.order_by(contact_shelves.c.first_id.desc()).subquery("bucket")
    asked = sa.cast(
        sa.func.replace(_query_of(wanted), _BUCKET, sa.cast(bucket.c.id, sa.Text)), TSQUERY
    )
    found = (
        sa.select(*columns, contacts.c.account_id, contacts.c.sandbox)
        .where(
            sa.func.contact_grams(contacts.c.shelf, contacts.c.searched).bool_op("@@")(asked),
            sa.func.strpos(contacts.c.searched, wanted) > 0,
        )
        .order_by(contacts.c.id.desc())
        .offset(sa.literal_column("0"))
        .lateral("found")
    )
    return (
        sa.select(*(found.c[column.name] for column in columns))
        .select_from(bucket.join(found, sa.true()))
        .where(found.c.account_id == owner.account_id, found.c.sandbox.is_(owner.sandbox))
    )


def _query_of(wanted: str) -> str:
    """Returns a tsquery for the trigrams of a needle, or for all that begin with a shorter one,
    with _BUCKET in place of the bucket's number.
    """
    if len(wanted) < 3:
        return f"{_lexeme(wanted)}:*"
    last = len(wanted) - 3
    steps = min(last, GRAMS_MAX - 1)
    places = {step * last // steps for step in range(steps + 1)} if steps else {0}
    return " & ".join(sorted({_lexeme(wanted[place : place + 3]) for place in places}))


def _lexeme(gram: str) -> str:
    """Quotes a word, as the PostgreSQL manual says in 8.11.2."""
    return f"'{_BUCKET}." + gram.replace("\\", "\\\\").replace("'", "''") + "'"
