"""A CSV file with a column of phone numbers, read as it streams: with or without a byte order mark;
`,`, `;` or tab between cells; quoted cells (RFC 4180). Files of contacts and files of a campaign's
numbers are read by it, and choose their phone column by the same rule (docs/decisions/contacts.md,
C8).
"""

import csv
from collections.abc import Iterator, Sequence
from typing import IO, Final

from heliograph.base.csv.records import read_records
from heliograph.base.errors import InvalidRequest

# characters; a contact has at most 30,000, and a file that is no text has no ends of lines
LINE_MAX: Final = 65_536
DELIMITERS: Final = (",", ";", "\t")
# names of the phone column, as `column_name` writes them; the earliest of them that a header has
PHONE_COLUMNS: Final = (
    "phone",
    "phone_number",
    "number",
    "msisdn",
    "mobile",
    "recipient",
    "telephone",
    "tel",
)
_BYTE_ORDER_MARK: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"
# a byte order mark of UTF-16, where octets that are not UTF-8 were read as lone surrogates
_UTF_16: Final = ("\udcff\udcfe", "\udcfe\udcff")


class CsvReader:
    """The records of a file, from its first line on, and the `delimiter` that was found in it.

    Raises InvalidRequest for a file in UTF-16, and while it is read for a line of more than
    LINE_MAX characters and where records cannot be told apart any more.
    """

    def __init__(self, file: IO[str]) -> None:
        lines = _lines(file)
        first = next(lines, "")
        if first.startswith(_UTF_16):
            raise InvalidRequest("The file is UTF-16; save it as UTF-8.")
        self.delimiter = max(DELIMITERS, key=lambda delimiter: _fitness(first, delimiter))
        self.records = read_records(_first_then(first, lines), self.delimiter)


def column_name(cell: str) -> str:
    """Returns a column's name as columns are compared: `Phone Number` is `phone_number`."""
    return cell.strip().lower().replace(" ", "_").replace("-", "_")


def phone_column(names: Sequence[str]) -> int | None:
    """Returns the place of the phone column among `names`, which are as `column_name` writes them;
    None where a header has none. Of several, it is the one that stands first in PHONE_COLUMNS.
    """
    return next((names.index(name) for name in PHONE_COLUMNS if name in names), None)


def _lines(file: IO[str]) -> Iterator[str]:
    line = file.readline(LINE_MAX + 1).removeprefix(_BYTE_ORDER_MARK)
    number = 1
    while line:
        if len(line) > LINE_MAX:
            raise InvalidRequest(f"Line {number} has more than {LINE_MAX} characters.")
        yield line
        line, number = file.readline(LINE_MAX + 1), number + 1


def _first_then(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _fitness(line: str, delimiter: str) -> tuple[bool, int]:
    """Says how well the delimiter takes the first line apart: whether there is a phone column, then
    into how many cells.
    """
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a carriage return within the line
        cells = line.split(delimiter)
    return phone_column([column_name(cell) for cell in cells]) is not None, len(cells)
