"""Reads a rate sheet, which is a file in CSV or XLSX, and writes one in CSV.

A file comes from a customer of the operator's or from a carrier, so it is read as a stranger's: its
octets, its rows and what an XLSX unpacks to have limits, and no formula is evaluated
(docs/decisions/pricing.md, PR5).
"""

import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import IO, Any, Final, NamedTuple
from xml.parsers import expat

from heliograph.base.csv.cells import DELIMITER, line_of, neutralize, text_of_cell
from heliograph.base.csv.columns import Columns, columns_of
from heliograph.base.csv.reader import CsvReader, text_of
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import GENERAL, current_rates

FILE_OCTETS_MAX: Final = 1_048_576  # a row has some 20
ROWS_MAX: Final = 5_000  # set in one transaction of less than a second
ACCOUNTS_MAX: Final = 100  # each is weighed by itself
# what an XLSX file of ROWS_MAX rows takes is a tenth of it
UNPACKED_OCTETS_MAX: Final = 16 * 1_048_576
MEMBERS_MAX: Final = 200  # files in an XLSX file; a sheet has a dozen
LINES_MAX: Final = 20_000  # of an XLSX sheet, empty ones too, which a few octets can claim
COLUMNS_MAX: Final = 20  # that are looked at
_ZIP: Final = b"PK\x03\x04"  # how an XLSX file begins
_PIECE_OCTETS: Final = 65_536

DESTINATION_COLUMNS: Final = ("destination", "prefix", "country")  # the first that is filled in
CREDITS_COLUMNS: Final = ("credits", "rate")
ACCOUNT_COLUMNS: Final = ("account", "account_id")
COLUMNS: Final = ("destination", "credits", "account")  # of a file that is written
NONE: Final = "none"
_CREDITS_DIGITS_MAX: Final = 6


class BadRow(NamedTuple):
    """Says what is wrong with a row. `line` counts from 1, as spreadsheets do."""

    line: int
    why: str


class ReadSheet(NamedTuple):
    """Holds the rates of a file, and its rows that are wrong."""

    rates: list[current_rates.Rate]
    bad: list[BadRow]


class _FileRow(NamedTuple):
    line: int
    cells: Sequence[str]
    why: str = ""


AccountOf = Callable[[str], str]  # returns the raw id; raises InvalidRequest or NotFound


def read_sheet(octets: bytes, account_of: AccountOf) -> ReadSheet:
    """Reads all of a file. Raises InvalidRequest for one that is not a sheet."""
    if not octets:
        raise invalid_field("file", "is required, and must not be empty")
    if len(octets) > FILE_OCTETS_MAX:
        raise invalid_field("file", f"must have at most {FILE_OCTETS_MAX // 1_048_576} MiB")
    try:
        rows = _rows_of_xlsx(octets) if octets.startswith(_ZIP) else _rows_of_csv(octets)
        return _read_rows(rows, account_of)
    except InvalidRequest as wrong:
        if wrong.fields:
            raise
        raise invalid_field("file", f"cannot be read. {wrong}") from wrong


def read_credits(text: str) -> int | None:
    """Returns the credits of a rate; None for the word that refuses texts.

    Raises InvalidRequest.
    """
    if text.lower() == NONE:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _CREDITS_DIGITS_MAX):
        raise invalid_field(
            "credits",
            f"must be a whole number from 0 to {current_rates.CREDITS_PER_SEGMENT_MAX}, or none;"
            f" not {quote_value(text)}",
        )
    return int(text)


def write_sheet(rates: Iterable[current_rates.Rate], account_text: Callable[[str], str]) -> str:
    """Returns rates as a file in CSV. `account_text` returns the text id of an account."""
    lines = [line_of(COLUMNS, DELIMITER)]
    for rate in rates:
        account = "" if rate.account_id == GENERAL else account_text(rate.account_id)
        credits = NONE if rate.credits is None else str(rate.credits)
        lines.append(line_of(map(neutralize, (rate.destination, credits, account)), DELIMITER))
    return "".join(lines)


def _read_rows(rows: Iterator[_FileRow], account_of: AccountOf) -> ReadSheet:
    first = next(rows, None)
    if first is None:
        raise invalid_field("file", "has no rows")
    if first.why:
        raise invalid_field("file", f"cannot be read: line {first.line} {first.why}")
    indexes = _ColumnIndexes.of(columns_of(first.cells))
    rates: dict[tuple[str, str], current_rates.Rate] = {}
    bad = []
    accounts: dict[str, str] = {"": GENERAL}
    for count, row in enumerate(rows, 1):
        if count > ROWS_MAX:
            raise invalid_field("file", f"must have at most {ROWS_MAX:,} rows; split it")
        try:
            rate = _rate(row, indexes, accounts, account_of)
        except _BadCell as wrong:
            bad.append(BadRow(row.line, str(wrong)))
            continue
        if rates.setdefault((rate.account_id, rate.destination), rate) is not rate:
            bad.append(BadRow(row.line, f"has {rate.destination} again"))
    if not rates and not bad:
        raise invalid_field("file", "has no rows below its first line")
    return ReadSheet(list(rates.values()), bad)


class _BadCell(Exception):
    """Says what is wrong with a row."""


class _ColumnIndexes(NamedTuple):
    """Says in which columns the values stand. `destinations` has the columns that may say where a
    rate holds, by their names.
    """

    destinations: dict[str, int]
    credits: int
    account: int | None
    named: int  # how many columns the first line has

    @classmethod
    def of(cls, columns: Columns) -> "_ColumnIndexes":
        """Finds the columns that a sheet needs in its first line. Raises InvalidRequest for a first
        line that does not name the columns.
        """
        found = {
            names: tuple(columns.known.index(name) for name in names if name in columns.known)
            for names in (DESTINATION_COLUMNS, CREDITS_COLUMNS, ACCOUNT_COLUMNS)
        }
        if not found[DESTINATION_COLUMNS] or not found[CREDITS_COLUMNS]:
            raise invalid_field(
                "file",
                "must name its columns in the first line: prefix or country, credits, and account"
                " if it has rates of accounts; it names"
                f" {quote_value(', '.join(columns.names))}",
            )
        account = found[ACCOUNT_COLUMNS]
        return cls(
            {columns.known[index]: index for index in found[DESTINATION_COLUMNS]},
            found[CREDITS_COLUMNS][0],
            account[0] if account else None,
            len(columns.names),
        )


def _rate(
    row: _FileRow, indexes: _ColumnIndexes, accounts: dict[str, str], account_of: AccountOf
) -> current_rates.Rate:
    """Returns the rate that a row is. Raises _BadCell."""
    if row.why:
        raise _BadCell(row.why)

    def cell(index: int) -> str:
        return row.cells[index] if index < len(row.cells) else ""

    column = next((name for name, index in indexes.destinations.items() if cell(index)), None)
    if column is None:
        raise _BadCell("has no prefix or country")
    destination = cell(indexes.destinations[column])
    for text in row.cells:
        if text.startswith("="):
            raise _BadCell(f"has the formula {quote_value(text)}; save the file with values")
    # as 1,000 without quotes has, which would be read as 1
    if beyond := next(filter(None, row.cells[indexes.named :]), ""):
        raise _BadCell(f"has more cells than the first line: {quote_value(beyond)} is in no column")
    whose = cell(indexes.account) if indexes.account is not None else ""
    lower = destination.lower()
    try:
        credits = read_credits(cell(indexes.credits))
        if whose not in accounts:
            if len(accounts) > ACCOUNTS_MAX:
                raise _BadCell(f"names one account too many: a file has at most {ACCOUNTS_MAX}")
            accounts[whose] = account_of(whose)
        named = lower if lower == "default" else destination
        return current_rates.check(current_rates.Rate(accounts[whose], named, credits))
    except NotFound as wrong:
        raise _BadCell(f"account was not found: {wrong}") from wrong
    except InvalidRequest as wrong:
        if not wrong.fields:
            raise _BadCell(str(wrong)) from wrong
        error = wrong.fields[0]
        named = column if error.field == "destination" else error.field
        raise _BadCell(f"{named} {error.message}") from wrong


def _rows_of_csv(octets: bytes) -> Iterator[_FileRow]:
    for record in CsvReader(text_of(BytesIO(octets))).records:
        yield _FileRow(record.line, [text_of_cell(cell) for cell in record.cells], record.why)


def _rows_of_xlsx(octets: bytes) -> Iterator[_FileRow]:
    """Yields the rows of the first sheet that hold something. Raises InvalidRequest."""
    from openpyxl import load_workbook

    _judge_archive(octets)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions that it does not know
            book = load_workbook(BytesIO(octets), read_only=True, data_only=False, keep_links=False)
            rows = book.worksheets[0].iter_rows(max_col=COLUMNS_MAX, values_only=True)
            for line, cells in enumerate(rows, 1):
                if line > LINES_MAX:
                    raise invalid_field("file", f"has rows below line {LINES_MAX:,}")
                texts = [_text_of_value(cell) for cell in cells]
                if any(texts):
                    yield _FileRow(line, texts)
    except (InvalidRequest, MemoryError):
        raise
    # a broken file breaks its reader wherever it happens to notice
    except Exception as error:
        raise invalid_field("file", "is no XLSX file that can be read; save it as CSV") from error


def _judge_archive(octets: bytes) -> None:
    """Unpacks everything piece by piece and counts it, so that nothing unpacks to more. Raises
    InvalidRequest.
    """
    unpacked = 0
    try:
        with zipfile.ZipFile(BytesIO(octets)) as archive:
            members = archive.infolist()
            if len(members) > MEMBERS_MAX:
                raise invalid_field("file", f"holds more than {MEMBERS_MAX} files")
            for member in members:
                with archive.open(member) as file:
                    unpacked += _unpacked_octets(file, UNPACKED_OCTETS_MAX - unpacked)
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        zlib.error,
    ) as error:
        raise invalid_field("file", "is no XLSX file that can be read; save it as CSV") from error


def _unpacked_octets(file: IO[bytes], most: int) -> int:
    """Returns how many octets a file of the archive unpacks to. Raises InvalidRequest."""
    octets, prolog = 0, _Prolog()
    while piece := file.read(_PIECE_OCTETS):
        octets += len(piece)
        if octets > most:
            raise invalid_field("file", f"unpacks to more than {UNPACKED_OCTETS_MAX >> 20} MiB")
        prolog.read(piece)
    return octets


class _Prolog:
    """Reads what stands before the first element of an XML file, in any encoding, and refuses a
    document type: its entities could grow behind the count of octets, and no spreadsheet has one.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._end

    def read(self, piece: bytes) -> None:
        """Reads the next piece of the file. Raises InvalidRequest for a document type."""
        if self._is_over:
            return
        try:
            self._parser.Parse(piece, False)
        except expat.ExpatError:  # it is no XML, and nobody reads it as such
            self._is_over = True

    def _refuse(self, *_: object) -> None:
        raise invalid_field("file", "declares entities, which no sheet needs")

    def _end(self, *_: object) -> None:
        self._is_over = True


def _text_of_value(value: Any) -> str:
    """Returns what a cell of XLSX says, as a CSV file would have it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
