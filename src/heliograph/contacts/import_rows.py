"""Stores the rows of a file of contacts, and says what became of each. The command that imports a
file and the imports that are stored count by the same rules.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.contacts.contact import ContactOwner
from heliograph.contacts.csv_file import BadContactRow, ContactRow
from heliograph.contacts.opt_out_history import Changer
from heliograph.contacts.store import UpsertedContact, UpsertResult, upsert

TOLD_MAX: Final = 20  # rows of each kind that a report, or a page, names by line


class RowEnd(Enum):
    """Says what became of a row. REPEATED is a row whose phone an earlier row of the file had: it
    has changed that contact once more.
    """

    CREATED = auto()
    UPDATED = auto()
    REPEATED = auto()
    BAD = auto()


class RowResult(NamedTuple):
    """Says what became of the row that begins in this line. `bad` tells why, if it is BAD."""

    line: int
    end: RowEnd
    bad: BadContactRow | None = None


def store_rows(
    tx: Connection,
    owner: ContactOwner,
    rows: Sequence[ContactRow | BadContactRow],
    *,
    by: Changer,
    now_ms: int,
) -> list[UpsertedContact]:
    """Stores the good ones of these rows, at most AT_ONCE_MAX, and returns them in their order.
    Raises StorageQuotaReached.
    """
    changes = [row.change for row in rows if isinstance(row, ContactRow)]
    return upsert(tx, owner, changes, by=by, now_ms=now_ms) if changes else []


def results_of(
    rows: Sequence[ContactRow | BadContactRow],
    upserted: Sequence[UpsertedContact],
    is_repeated: Callable[[UpsertedContact], bool],
) -> list[RowResult]:
    """Returns what became of each of these rows, whose good ones were `upserted`. `is_repeated`
    says of a contact that was stored whether a row before it had its phone. It is asked once for
    each row, in the order of the file.
    """
    each_upserted = iter(upserted)
    return [
        RowResult(row.line, RowEnd.BAD, row)
        if isinstance(row, BadContactRow)
        else _result(row, next(each_upserted), is_repeated)
        for row in rows
    ]


def _result(
    row: ContactRow, upserted: UpsertedContact, is_repeated: Callable[[UpsertedContact], bool]
) -> RowResult:
    if upserted.contact is None:
        return RowResult(row.line, RowEnd.BAD, BadContactRow(row.line, row.cells, upserted.why))
    if is_repeated(upserted):
        return RowResult(row.line, RowEnd.REPEATED)
    is_new = upserted.result is UpsertResult.CREATED
    return RowResult(row.line, RowEnd.CREATED if is_new else RowEnd.UPDATED)
