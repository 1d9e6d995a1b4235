"""A file of contacts is stored batch by batch. Each batch is one transaction, and what is stored
stays stored.
"""

import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from heliograph.base import clock
from heliograph.contacts.contact import ContactOwner
from heliograph.contacts.csv_file import BadContactRow, ContactRow
from heliograph.contacts.import_rows import TOLD_MAX, RowEnd, results_of, store_rows
from heliograph.contacts.opt_out_history import Changer
from heliograph.contacts.store import AT_ONCE_MAX, UpsertedContact, UpsertResult
from heliograph.database.database import Database


class Import:
    """Imports a file on behalf of `by`, and counts what is committed so far. If several rows have
    the same phone, the last one wins.
    """

    def __init__(self, db: Database, owner: ContactOwner, by: Changer) -> None:
        self._db = db
        self._owner = owner
        self._by = by._replace(is_import=True)
        self._began_ms = clock.now_ms()
        # contacts that are older than the import; what it makes or changes itself has its time
        self._older_contacts = _SeenPhones()
        self.created = self.updated = self.repeated = self.bad = 0
        self.line = 1  # up to which the file is done
        self.repeated_lines: list[int] = []
        self.bad_rows: list[BadContactRow] = []

    @property
    def stored(self) -> int:
        return self.created + self.updated + self.repeated

    def run(self, rows: Iterable[ContactRow | BadContactRow]) -> Iterator[list[BadContactRow]]:
        """Stores batch after batch, while the rows of the next are read; gives the bad rows of each
        when it is committed. Raises what reading `rows` raises, when all rows before it are stored;
        and StorageQuotaReached or Unavailable, when a batch is not stored.
        """
        every, ended = iter(rows), deque[Exception]()
        with ThreadPoolExecutor(1, thread_name_prefix="import") as thread:
            batch = _read(every, ended)
            while batch:
                storing = thread.submit(self._store, batch)
                batch = _read(every, ended)
                yield storing.result()
        if ended:
            raise ended[0]

    def _store(self, batch: list[ContactRow | BadContactRow]) -> list[BadContactRow]:
        upserted = self._db.transact(
            lambda tx: store_rows(tx, self._owner, batch, by=self._by, now_ms=self._began_ms)
        )
        rows = results_of(batch, upserted, self._is_repeated)
        ends = Counter(row.end for row in rows)
        self.created += ends[RowEnd.CREATED]
        self.updated += ends[RowEnd.UPDATED]
        self.repeated += ends[RowEnd.REPEATED]
        self.bad += ends[RowEnd.BAD]
        repeated_lines = [row.line for row in rows if row.end is RowEnd.REPEATED]
        self.repeated_lines += repeated_lines[: TOLD_MAX - len(self.repeated_lines)]
        bad = [row.bad for row in rows if row.bad is not None]
        self.bad_rows += bad[: TOLD_MAX - len(self.bad_rows)]
        self.line = batch[-1].line
        return bad

    def _is_repeated(self, upserted: UpsertedContact) -> bool:
        if upserted.result is UpsertResult.CREATED:
            return False
        assert upserted.contact is not None
        return upserted.before_ms == self._began_ms or self._older_contacts.was_added(
            upserted.contact.phone
        )


def _read(
    every: Iterator[ContactRow | BadContactRow], ended: deque[Exception]
) -> list[ContactRow | BadContactRow]:
    """Reads the next batch, as far as it can be read."""
    batch: list[ContactRow | BadContactRow] = []
    try:
        batch.extend(islice(every, AT_ONCE_MAX))
    except Exception as error:  # noqa: BLE001  told when what was read before it is stored
        ended.append(error)
    return batch


class _SeenPhones:
    """Remembers the phones of a file so far, in a file of SQLite's own that goes with it. So memory
    stays flat, however long the file is.
    """

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE phones (phone INTEGER PRIMARY KEY)")
        self._file.execute("BEGIN")  # one transaction for all phones

    def was_added(self, phone: str) -> bool:
        """Adds the phone, and returns whether it was added before."""
        return (
            self._file.execute("INSERT OR IGNORE INTO phones VALUES (?)", (int(phone),)).rowcount
            == 0
        )
