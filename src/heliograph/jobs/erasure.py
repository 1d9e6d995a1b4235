"""Erases a phone number from all that an account has, step by step, as the command and the page of
the console do: it looks, changes what was found in many transactions, and looks again.
"""

from collections.abc import Callable, Sequence

from sqlalchemy.engine import Connection

from heliograph.base.errors import Conflict
from heliograph.campaigns import take_from_dead_processes
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.jobs import erase_number
from heliograph.jobs.erase_blockers import refuse_while_under_way
from heliograph.jobs.row_changes import RowChange
from heliograph.text.phones_in_text import Quoted


class StoredMeanwhile(Conflict):
    """Rows with the number were stored while it was erased."""

    reason = "stored_meanwhile"


def look(db: Database, account_id: str, quoted: Quoted) -> list[RowChange]:
    """Returns what is to be changed so that the account (raw id) has the number no more. Raises
    StillUnderWay.
    """
    with db.write() as tx:
        take_from_dead_processes(tx, account_id)
    return _find(db, account_id, quoted)


def erase(
    db: Database,
    account_id: str,
    quoted: Quoted,
    found: Sequence[RowChange],
    finish: Callable[[Connection], object],
) -> None:
    """Changes what was found, notes it by `finish`, and looks again: whoever launched a campaign
    after the first look has read the contact, or not, and now either can be seen. If nothing was
    found it does nothing. Raises StillUnderWay, StoredMeanwhile.
    """
    if not found:
        return
    for batch in erase_number.batches(found):
        with db.write() as tx:
            batch(tx)
    with db.write() as tx:
        finish(tx)
    if more := _find(db, account_id, quoted, erased=len(found)):
        raise StoredMeanwhile(
            f"{len(found)} rows were erased, but {len(more)} new rows with the number were stored"
            " meanwhile. Erase it again."
        )


def _find(db: Database, account_id: str, quoted: Quoted, *, erased: int = 0) -> list[RowChange]:
    with db.read() as tx:
        read_one_snapshot(tx)
        refuse_while_under_way(tx, account_id, quoted, erased=erased)
        return list(erase_number.changes(tx, account_id, quoted))
