"""Reads a file of contacts as it streams (`base/csv/reader.py`): what its columns are, and which
rows cannot be stored.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TextIO

from heliograph.base.csv.reader import CsvReader, text_of
from heliograph.base.csv.records import Record
from heliograph.contacts.change import ContactPatch
from heliograph.contacts.csv_cells import Layout, change_of, layout_of


class ContactRow(NamedTuple):
    """Holds a row that can be stored. `line` is where it begins in the file, and `cells` are as
    they stand there.
    """

    line: int
    cells: Sequence[str]
    change: ContactPatch


class BadContactRow(NamedTuple):
    """Describes a row that is left out, and why."""

    line: int
    cells: Sequence[str]
    why: str


def open_sheet(path: str) -> TextIO:
    """Opens a file; `-` is standard input."""
    return text_of(sys.stdin.buffer if path == "-" else open(path, "rb"))


class Sheet:
    """Reads a file of contacts. `header` and `delimiter` are the file's own; `layout` says how its
    columns are understood. Raises InvalidRequest when it is no such file.
    """

    def __init__(
        self,
        file: TextIO,
        country: str | None,
        home_country: str,
        columns: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Reads the header of a file that `text_of` has returned. `country` says whose dialling
        rules numbers are read by. Without one, `home_country` says so for numbers with a leading 0.
        `columns` tells what the file calls a field, where it has another name for it.
        """
        self._country, self._home_country = country, home_country
        reader = CsvReader(file)
        self.delimiter, self._records = reader.delimiter, reader.records
        self.header = (reader.first() or Record(1, [])).cells
        self.layout: Layout = layout_of(self.header, columns)

    def rows(self) -> Iterator[ContactRow | BadContactRow]:
        """Yields each row that is not empty. Raises InvalidRequest where the file cannot be read
        any further.
        """
        for record in self._records:
            line, cells = record.line, record.cells
            if record.why:
                yield BadContactRow(line, cells, record.why)
                continue
            try:
                yield ContactRow(
                    line, cells, change_of(cells, self.layout, self._country, self._home_country)
                )
            except ValueError as error:
                yield BadContactRow(line, cells, str(error))
