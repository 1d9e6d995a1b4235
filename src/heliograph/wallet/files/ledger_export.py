"""Gives out the entries of the ledger, of all accounts or of one, oldest first. They are read
piece by piece, so that ten million of them take no more memory than ten. Entries are committed in
another order than that of their ids, so the newest ones are read in one transaction.
"""

from collections.abc import Callable
from heapq import merge
from itertools import islice
from operator import attrgetter
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import clock, ids
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import DELIMITER, line_of, neutralize
from heliograph.base.errors import NotFound
from heliograph.base.paging import Span, first_id_of
from heliograph.database.reads import records_of
from heliograph.wallet.entry import ENTRY_COLUMNS, Entry
from heliograph.wallet.ledger import BANK_ID, ID_PREFIX, ISSUANCE_ID, SALES_ID
from heliograph.wallet.ledger_hours import COMPLETE_AFTER_MS
from heliograph.wallet.money import to_number
from heliograph.wallet.tables import ledger_entries

PIECE: Final = 2_000  # entries that are read at once, and so in memory
WAITING_CHARACTERS: Final = 256 * 1_024  # of the newest entries, given out at once
SERVICE_NAMES: Final = {ISSUANCE_ID: "issuance", SALES_ID: "sales", BANK_ID: "bank"}
COLUMNS: Final = (
    "created_at",
    "id",
    "type",
    "account_id",
    "counterpart",
    "credits",
    "amount",
    "currency",
    "credits_after",
    "balance_after",
    "counterpart_credits_after",
    "counterpart_balance_after",
    "reference",
    "description",
)


class ExportWanted(NamedTuple):
    """Says which entries are exported: those of a time, of one account (raw id) or of all."""

    span: Span
    account_id: str | None = None


class ExportedAccount(NamedTuple):
    """Names an account in a file."""

    text_id: str
    name: str


class AccountNames:
    """Looks up the accounts that a file names, each once."""

    def __init__(self) -> None:
        self._known: dict[str, ExportedAccount] = {}

    def account_of(self, tx: Connection, account_id: str) -> ExportedAccount:
        """Returns how an account is named. One that is not stored is named by its raw id."""
        if account_id not in self._known:
            try:
                found = accounts.by_id(tx, account_id)
                named = ExportedAccount(accounts.text_id(found), found.name)
            except NotFound:  # nothing keeps an entry's counterpart from being anything
                named = ExportedAccount(account_id, "")
            self._known[account_id] = named
        return self._known[account_id]


class LedgerFormat(Protocol):
    """Makes the lines of a file. It is used for one file only."""

    def head(self) -> str:
        """Returns the first lines."""

    def lines(self, tx: Connection, entries: list[Entry]) -> str:
        """Returns the lines of entries, which come oldest first."""

    def foot(self) -> str:
        """Returns the last lines, after all entries."""


class CsvLedger:
    """Makes a line of CSV for each entry, with the signs of its account."""

    def __init__(self) -> None:
        self._names = AccountNames()

    def head(self) -> str:
        return line_of(COLUMNS, DELIMITER)

    def lines(self, tx: Connection, entries: list[Entry]) -> str:
        return "".join(self._line(tx, entry) for entry in entries)

    def foot(self) -> str:
        return ""

    def _line(self, tx: Connection, entry: Entry) -> str:
        def money(minor: int | None) -> str:
            return "" if minor is None else str(to_number(minor, entry.currency))

        counterpart = entry.counterpart_id
        service = SERVICE_NAMES.get(counterpart)
        credits_after = entry.counterpart_credits_after
        cells = (
            rfc3339(entry.created_at_ms),
            ids.text_of_raw(ID_PREFIX, entry.id),
            entry.type,
            self._names.account_of(tx, entry.account_id).text_id,
            self._names.account_of(tx, counterpart).text_id if service is None else service,
            str(entry.credits),
            money(entry.amount_minor),
            entry.currency,
            str(entry.credits_after),
            money(entry.balance_after_minor),
            "" if credits_after is None else str(credits_after),
            # of a wallet that may be in another currency, unless money went there
            money(entry.counterpart_balance_after_minor) if entry.amount_minor else "",
            neutralize(entry.reference or ""),
            neutralize(entry.description),
        )
        return line_of(cells, DELIMITER)


ReadPiece = Callable[[Connection, str | None], tuple[str, str | None]]


def read_pieces(wanted: ExportWanted, ledger_format: LedgerFormat) -> ReadPiece:
    """Returns what reads the lines of the entries above a raw id, and the id above which the next
    ones stand. None ends it, and its lines have the foot. Each piece may have a transaction of its
    own, which sees one moment (`Database.snapshot`).
    """
    return _LedgerReading(wanted, ledger_format).next_piece


class _LedgerReading:
    """Reads a file so that no entry is missed which is committed after one with a higher id. Pieces
    of entries that are complete are read as they are asked for. What is newer is read in the
    transaction of the last of them, all at once, and waits on the disk until it is asked for.
    """

    def __init__(self, wanted: ExportWanted, ledger_format: LedgerFormat) -> None:
        self._wanted = wanted
        self._format = ledger_format
        self._newest: IO[str] | None = None

    def next_piece(self, tx: Connection, above: str | None) -> tuple[str, str | None]:
        """Returns the next lines after the entry `above`, and the id to go on from, or None at the
        end.
        """
        if self._newest is not None:
            return self._wait_for_entries(above)
        complete_ms = clock.now_ms() - COMPLETE_AFTER_MS
        until_ms = self._wanted.span.until_ms
        is_all = until_ms is not None and until_ms <= complete_ms
        end_ms = until_ms if is_all else complete_ms
        entries = _oldest(tx, self._until(end_ms), above)
        text = self._format.lines(tx, entries[:PIECE])
        if len(entries) > PIECE:
            return text, entries[PIECE - 1].id
        if is_all:
            return text + self._format.foot(), None
        last = entries[-1].id if entries else above
        self._newest = self._read_newest(tx, last)
        rest, after = self._wait_for_entries(last or first_id_of(0))
        return text + rest, after

    def _until(self, until_ms: int | None) -> ExportWanted:
        return self._wanted._replace(span=Span(self._wanted.span.since_ms, until_ms))

    def _read_newest(self, tx: Connection, above: str | None) -> IO[str]:
        file = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115  it is read later
        is_last = False
        while not is_last:
            entries = _oldest(tx, self._wanted, above)
            file.write(self._format.lines(tx, entries[:PIECE]))
            is_last = len(entries) <= PIECE
            above = above if is_last else entries[PIECE - 1].id
        file.write(self._format.foot())
        file.seek(0)
        return file

    def _wait_for_entries(self, above: str | None) -> tuple[str, str | None]:
        assert self._newest is not None
        text = self._newest.read(WAITING_CHARACTERS)
        if len(text) == WAITING_CHARACTERS:
            return text, above
        self._newest.close()
        return text, None


def _oldest(tx: Connection, wanted: ExportWanted, above: str | None) -> list[Entry]:
    """Returns the next entries, with one more than a piece has."""
    columns = ledger_entries.c
    if wanted.account_id is None:
        return _read(tx, wanted.span, above, sa.true())
    own = _read(tx, wanted.span, above, columns.account_id == wanted.account_id)
    with_it = sa.and_(
        columns.counterpart_id == wanted.account_id, columns.counterpart_credits_after.is_not(None)
    )
    others = _read(tx, wanted.span, above, with_it)
    return list(islice(merge(own, others, key=attrgetter("id")), PIECE + 1))


def _read(
    tx: Connection, span: Span, above: str | None, whose: sa.ColumnElement[bool]
) -> list[Entry]:
    columns = ledger_entries.c
    query = sa.select(*ENTRY_COLUMNS).where(whose).order_by(columns.id).limit(PIECE + 1)
    # an entry's id is made of its time, so ranges of time are ranges of the index
    if above is not None:
        query = query.where(columns.id > above)
    elif span.since_ms is not None:
        query = query.where(columns.id >= first_id_of(span.since_ms))
    if span.until_ms is not None:
        query = query.where(columns.id < first_id_of(span.until_ms))
    return records_of(Entry, tx.execute(query))
