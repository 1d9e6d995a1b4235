"""A file of contacts is stored, and its rows become contacts step by step. Each step is one
transaction that also stores how far the import is: so it goes on after a process has ended, and no
row counts twice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import quotas
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.csv.reader import text_of
from heliograph.base.errors import Conflict, NotFound
from heliograph.base.json import encode
from heliograph.contacts.contact import ContactOwner
from heliograph.contacts.csv_file import BadContactRow, ContactRow, Sheet
from heliograph.contacts.import_rows import TOLD_MAX, RowEnd, RowResult, results_of, store_rows
from heliograph.contacts.opt_out_history import Changer, ChangerKind
from heliograph.contacts.store import UpsertedContact
from heliograph.contacts.tables import contact_imports
from heliograph.database.database import Database, RawId
from heliograph.database.pruning import PruningRule

PREFIX: Final = "imp"
STEP_ROWS: Final = 500  # others of the account wait for a step: a twentieth of a second
INTERRUPTED_MS: Final = 30_000  # without a step; a process that does not beat counts as gone then
STOPPED: Final = "It was stopped."
SUSPENDED: Final = "The account is suspended."
KEPT: Final = (PruningRule(contact_imports.name, "id", 7 * DAY_MS),)

_t: Final = contact_imports.c
_INSERT: Final = sa.text(
    "INSERT INTO contact_imports (id, account_id, sandbox, by_name, country_code, columns, file,"
    " rows_total, rows_done, created, updated, repeated, bad, line, told, moved_at_ms)"
    " VALUES (:id, :account_id, :sandbox, :by_name, :country_code, :columns, :file, :rows_total,"
    " 0, 0, 0, 0, 0, 1, :told, :moved_at_ms) ON CONFLICT DO NOTHING"
).bindparams(sa.bindparam("id", type_=RawId), sa.bindparam("account_id", type_=RawId))


class ImportRunning(Conflict):
    """Another file of contacts is being imported. Wait until it is done, or stop it."""

    reason = "import_running"


class ImportReport(msgspec.Struct):
    """Holds what a page tells of an import beside its figures: how the columns were understood, the
    first rows that were left out, and the lines that repeat a phone.
    """

    understood: dict[str, list[str]]
    bad_rows: list[tuple[int, str]] = []
    repeated_lines: list[int] = []


class FileToImport(NamedTuple):
    """Describes a file whose rows can be read, and how: by which country's dialling rules, and what
    it calls which field.
    """

    octets: bytes
    country: str | None
    columns: Mapping[str, str]
    rows: int
    understood: dict[str, list[str]]


class StoredImport(NamedTuple):
    """Holds an import as it is stored, without its file. `id` is raw. `ended_at_ms` is None until
    it has ended, and `why` is None if nothing has stopped it.
    """

    id: str
    account_id: str
    sandbox: bool
    by_name: str
    rows_total: int
    rows_done: int
    created: int
    updated: int
    repeated: int
    bad: int
    line: int
    told: ImportReport
    moved_at_ms: int
    ended_at_ms: int | None
    why: str | None
    has_file: bool

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(PREFIX, self.id)

    @property
    def began_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))

    @property
    def is_running(self) -> bool:
        return self.ended_at_ms is None

    def is_interrupted(self, now_ms: int) -> bool:
        """Returns whether the process that did it seems to have ended."""
        return self.is_running and now_ms - self.moved_at_ms >= INTERRUPTED_MS


_COLUMNS: Final = (
    *(_t[name] for name in StoredImport._fields if name != "has_file"),
    _t.file.is_not(None).label("has_file"),
)


def begin(
    tx: Connection, owner: ContactOwner, file: FileToImport, by_name: str, *, now_ms: int
) -> str:
    """Stores a file, whose rows are contacts soon, and returns the text id of the import. Files of
    earlier imports of the account are forgotten. Raises ImportRunning: there is one at a time.
    """
    raw = ids.raw_of_number(ids.new_number(now_ms))
    accounts.lock(tx, owner.account_id)  # so that `go_on` meets it, and no constraint
    stored = tx.execute(
        _INSERT,
        {
            "id": raw,
            **owner._asdict(),
            "by_name": by_name,
            "country_code": file.country,
            "columns": encode(file.columns).decode(),
            "file": file.octets,
            "rows_total": file.rows,
            "told": encode(ImportReport(file.understood)).decode(),
            "moved_at_ms": now_ms,
        },
    )
    if not stored.rowcount:
        raise ImportRunning()
    earlier = sa.update(contact_imports).where(_t.account_id == owner.account_id, _t.id != raw)
    tx.execute(earlier.values(file=None))
    return ids.text_of_raw(PREFIX, raw)


def import_by_id(tx: Connection, account_id: str, import_id: str) -> StoredImport:
    """Returns an import of the account (raw id) by its text id. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, import_id)
    query = sa.select(*_COLUMNS).where(_t.account_id == account_id, _t.id == raw)
    row = None if raw is None else tx.execute(query).one_or_none()
    if row is None:
        raise NotFound("There is no such import.")
    return _of_row(row)


def newest_imports(tx: Connection, account_id: str, *, limit: int) -> list[StoredImport]:
    """Returns at most `limit` imports of the account (raw id), newest first."""
    query = sa.select(*_COLUMNS).where(_t.account_id == account_id)
    return [_of_row(row) for row in tx.execute(query.order_by(_t.id.desc()).limit(limit))]


def running_imports(tx: Connection) -> list[StoredImport]:
    """Returns the imports of all accounts that have not ended."""
    query = sa.select(*_COLUMNS).where(_t.ended_at_ms.is_(None)).order_by(_t.id)
    return [_of_row(row) for row in tx.execute(query)]


def stop(tx: Connection, stored: StoredImport, why: str = STOPPED) -> bool:
    """Ends an import that is running, after the step that is being done. What is stored stays.
    Returns whether it was running until now.
    """
    ended = _change(tx, stored, _t.ended_at_ms.is_(None), ended_at_ms=clock.now_ms(), why=why)
    return ended > 0


def go_on(tx: Connection, stored: StoredImport, *, now_ms: int) -> None:
    """Lets an import that was stopped go on behind its last row. Raises ImportRunning; NotFound
    when its file has been forgotten.
    """
    accounts.lock(tx, stored.account_id)  # nobody begins one between the two
    if any(each.is_running for each in newest_imports(tx, stored.account_id, limit=1)):
        raise ImportRunning()
    is_stopped = _t.why.is_not(None) & _t.file.is_not(None)
    if not _change(tx, stored, is_stopped, ended_at_ms=None, why=None, moved_at_ms=now_ms):
        raise NotFound("The file is no longer stored. Upload it again: no row is stored twice.")


def _change(
    tx: Connection, stored: StoredImport, only_if: sa.ColumnElement[bool], **values: Any
) -> int:
    return tx.execute(
        sa.update(contact_imports).where(_t.id == stored.id, only_if).values(**values)
    ).rowcount


def _of_row(row: sa.Row[Any]) -> StoredImport:
    values = dict(row._mapping)
    report = msgspec.json.decode(values.pop("told"), type=ImportReport)
    return StoredImport(**values, told=report)


_FIGURES: Final = ("rows_done", "created", "updated", "repeated", "bad", "line")


class ImportRun:
    """Does an import, from its last row on, in the process that has it."""

    def __init__(self, db: Database, import_id: str) -> None:
        self._db, self._id = db, import_id
        self._rows: Iterator[ContactRow | BadContactRow] = iter(())
        self._at = -1  # rows that were read
        self._seen: set[str] = set()  # phones of the rows so far

    def step(self) -> None:
        """Stores the next rows. The last step ends the import; so does what stops it."""
        try:
            with self._db.write() as tx:
                self._do(tx)
        except quotas.StorageQuotaReached as error:
            why = str(error)
            with self._db.write() as tx:
                stop(tx, self._locked(tx), why)

    def _do(self, tx: Connection) -> None:
        stored = self._locked(tx)
        account = accounts.by_id(tx, stored.account_id)
        if not stored.is_running:
            return
        if not accounts.is_active(tx, account):
            stop(tx, stored, SUSPENDED)
            return
        if self._at != stored.rows_done:  # it begins, or the step before was rolled back
            self._read_up_to(tx, stored, account.country_code)
        batch = list(islice(self._rows, STEP_ROWS))
        self._at += len(batch)
        owner = ContactOwner(stored.account_id, stored.sandbox)
        by = Changer(ChangerKind.USER, stored.by_name, is_import=True)
        upserted = store_rows(tx, owner, batch, by=by, now_ms=clock.now_ms())
        after = _counted(stored, results_of(batch, upserted, self._is_repeated))
        is_over = len(batch) < STEP_ROWS
        ended = {"ended_at_ms": clock.now_ms(), "file": None} if is_over else {}
        report_json = encode(after.told).decode()
        figures = {name: getattr(after, name) for name in _FIGURES}
        moved = {"told": report_json, "moved_at_ms": clock.now_ms(), **figures, **ended}
        _change(tx, stored, sa.true(), **moved)

    def _locked(self, tx: Connection) -> StoredImport:
        query = sa.select(*_COLUMNS).where(_t.id == self._id).with_for_update()
        return _of_row(tx.execute(query).one())

    def _read_up_to(self, tx: Connection, stored: StoredImport, home_country: str) -> None:
        """Reads the rows that are done. What has the phone of one of them repeats it."""
        query = sa.select(_t.file, _t.country_code, _t.columns).where(_t.id == stored.id)
        row = tx.execute(query).one()
        names = msgspec.json.decode(row.columns, type=dict[str, str])
        self._rows = Sheet(text_of(BytesIO(row.file)), row.country_code, home_country, names).rows()
        done = islice(self._rows, stored.rows_done)
        self._seen = {_phone(row) for row in done if isinstance(row, ContactRow)}
        self._at = stored.rows_done

    def _is_repeated(self, upserted: UpsertedContact) -> bool:
        assert upserted.contact is not None
        phone = upserted.contact.phone
        if phone in self._seen:
            return True
        self._seen.add(phone)
        return False


def _counted(stored: StoredImport, rows: Sequence[RowResult]) -> StoredImport:
    """Returns the import with the figures after these rows."""
    ends, report = Counter(row.end for row in rows), stored.told
    bad = [(row.line, row.bad.why) for row in rows if row.bad is not None]
    repeated = [row.line for row in rows if row.end is RowEnd.REPEATED]
    report.bad_rows += bad[: TOLD_MAX - len(report.bad_rows)]
    report.repeated_lines += repeated[: TOLD_MAX - len(report.repeated_lines)]
    return stored._replace(
        rows_done=stored.rows_done + len(rows),
        created=stored.created + ends[RowEnd.CREATED],
        updated=stored.updated + ends[RowEnd.UPDATED],
        repeated=stored.repeated + ends[RowEnd.REPEATED],
        bad=stored.bad + ends[RowEnd.BAD],
        line=rows[-1].line if rows else stored.line,
    )


def _phone(row: ContactRow) -> str:
    assert row.change.phone is not None
    return row.change.phone.digits
