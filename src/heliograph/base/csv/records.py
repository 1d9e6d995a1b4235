"""Reads the records of a CSV file (RFC 4180) as it streams. A quote that is not closed is reported
with its line, and does not swallow the lines that follow.
"""

import csv
from collections.abc import Iterator
from typing import Final, NamedTuple

from heliograph.base.errors import InvalidRequest

# characters; of a cell over several lines: no field of ours takes as many, and a quote that is not
# closed is found early
CELL_MAX: Final = 10_000
LINES_MAX: Final = 100  # of one record
# characters of a record before its last line; a contact has at most 30,000
RECORD_MAX: Final = 65_536
# why a line is not CSV: what Python's reader says of it differs from version to version
TEXT_BEHIND_QUOTE: Final = (
    "is not CSV: a cell goes on behind its closing quote (within a quoted cell, a quote is written"
    " twice)"
)
BARE_RETURN: Final = "is not CSV: a carriage return stands in a cell without quotes"


class Record(NamedTuple):
    """Holds one record. `line` is the number of the line where it begins. `why` says why the line
    is not valid CSV, and then `cells` are a guess; otherwise it is empty.
    """

    line: int
    cells: list[str]
    why: str = ""


def read_records(lines: Iterator[str], delimiter: str) -> Iterator[Record]:
    """Reads the records of `lines`, which have their line ends. An empty line has no cells.

    Raises InvalidRequest where records cannot be told apart any more: a quote is not closed, or is
    closed lines later by what opens another cell.
    """
    fed = _LineFeed(lines)
    reader = csv.reader(fed, delimiter=delimiter, strict=True)
    while True:
        fed.start_record()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if fed.ended or fed.of_record > 1:
                raise fed.refused("a quoted cell that begins there is not closed.") from error
            yield Record(
                fed.first,
                next(csv.reader([fed.text], delimiter=delimiter), []),
                _fault_in_line(fed.last, delimiter),
            )
            continue
        if fed.of_record > 1 and any(len(cell) > CELL_MAX for cell in cells):
            raise fed.refused(
                f"a quoted cell has more than {CELL_MAX} characters; is a quote not closed?"
            )
        yield Record(fed.first, cells)


def _fault_in_line(line: str, delimiter: str) -> str:
    """Returns why the strict reader refuses a line. One that is not strict accepts all quotes."""
    try:
        next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return BARE_RETURN
    return TEXT_BEHIND_QUOTE


class _LineFeed:
    """Gives the reader the lines that it asks for. A line that it asks for within a record
    continues a quoted cell.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._characters = 0  # of the record so far
        self.first, self.of_record = 1, 0
        self.last = ""
        self.ended = False

    def start_record(self) -> None:
        """Begins a record with the next line."""
        self.first, self.of_record, self._characters = self.first + self.of_record, 0, 0

    @property
    def text(self) -> str:
        """Returns the last line without its end. A carriage return within it, which ends lines on
        old systems, becomes a space.
        """
        return self.last.rstrip("\r\n").replace("\r", " ")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.of_record == LINES_MAX or self._characters > RECORD_MAX:
            raise self.refused(
                f"a quoted row has more than {LINES_MAX} lines or {RECORD_MAX} characters; is a"
                " quote not closed?"
            )
        self.ended = True
        self.last = next(self._lines)
        self.ended = False
        self.of_record += 1
        self._characters += len(self.last)
        return self.last

    def refused(self, why: str) -> InvalidRequest:
        """Returns the error for the file from this record on."""
        return InvalidRequest(f"From line {self.first} on, the file cannot be read: {why}")
