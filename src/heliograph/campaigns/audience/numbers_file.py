"""A file of numbers is CSV with or without a header, or has one number a line. It is read as it
streams (`base/csv/reader.py`); what is wrong is told by line.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain
from typing import IO, Final, NamedTuple

from heliograph.base.csv.cells import text_of_cell
from heliograph.base.csv.columns import NAMES_SAID_MAX, PHONE_COLUMNS, Columns, columns_of
from heliograph.base.csv.reader import CsvReader
from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import shorten
from heliograph.campaigns.template import NAME, PHONE
from heliograph.text import Phone, parse_phone

COLUMNS_MAX: Final = 100
VALUE_MAX: Final = 1_530  # characters: more never fits into ten segments
SAID_MAX: Final = 40  # characters of a bad number that a report repeats


class NumberRow(NamedTuple):
    """Holds a number, and what else its line says, by column."""

    line: int
    phone: Phone
    values: dict[str, str]


class LeftOutReason(StrEnum):
    """Says in one word why a line is left out, so that such lines can be counted."""

    UNREADABLE = "unreadable"
    TOO_MANY_COLUMNS = "too_many_columns"
    NO_NUMBER = "no_number"
    INVALID_NUMBER = "invalid_number"
    BAD_VALUE = "bad_value"
    BAD_TEXT = "bad_text"


class BadNumberRow(NamedTuple):
    """Describes a line that is left out, and why: in words, which may repeat what the line says,
    and in one word.
    """

    line: int
    why: str
    reason: LeftOutReason


class _NumbersLayout(NamedTuple):
    phone: int  # its column
    names: tuple[str, ...]  # of all columns, some of which may have none; empty without a header


class Numbers:
    """Reads a file of numbers. Numbers may be written as they are dialled in `country`; if that is
    None, numbers with a leading 0 are read as dialled in `home_country`. `phone_column` is what its
    header calls the numbers; if it is None, the column is known by its name. `columns` is what its
    header names, as soon as that is read; without a header it is empty.
    """

    def __init__(
        self,
        file: IO[str],
        country: str | None,
        home_country: str | None = None,
        phone_column: str | None = None,
    ) -> None:
        self._file = file
        self._phone_column = phone_column
        self._country = country
        self._home_country = home_country
        self.columns: tuple[str, ...] = ()

    def rows(self, asked_for: Iterable[str]) -> Iterator[NumberRow | BadNumberRow]:
        """Yields the lines that hold something. `asked_for` are the fields that are needed of each.

        Raises InvalidRequest for a file that is not such a list at all: its first line cannot be
        read, its header names no column of numbers, it has none and several columns could be the
        numbers, no column is called as a field that is asked for, or a quote in it is not closed.
        """
        reader = CsvReader(self._file)
        first = reader.first()
        if first is None:
            return
        layout, is_header = _layout(columns_of(first.cells), self._country, self._phone_column)
        self.columns = tuple(filter(None, layout.names))
        _require_columns(asked_for, self.columns)
        for record in reader.records if is_header else chain([first], reader.records):
            if record.why:
                yield BadNumberRow(record.line, record.why, LeftOutReason.UNREADABLE)
                continue
            cells = [text_of_cell(cell) for cell in record.cells]
            if not layout.names:
                _require_one_number(record.line, cells, self._country)
            # Without a header, the column of phone numbers is found by its values, and an article's
            # number 0123456789 is no phone number.
            is_certain = bool(layout.names) or len(cells) == 1
            certain_country = self._home_country if is_certain else None
            yield _row(record.line, cells, layout, self._country, certain_country)


def _require_columns(asked_for: Iterable[str], columns: tuple[str, ...]) -> None:
    """Requires that each placeholder of the text is a column: else it is misspelled, and everybody
    gets its default, or nothing. Raises InvalidRequest.
    """
    known = {PHONE, *columns, *(NAME for column in columns if column.lower() == NAME)}
    missing = [f"{{{name}}}" for name in asked_for if name not in known]
    if missing:
        has = (
            f"its columns are {shorten(', '.join(columns), NAMES_SAID_MAX)}"
            if columns
            else "it has no header"
        )
        raise InvalidRequest(
            f"The text asks for {', '.join(missing)}, which is not a column of the file: {has}."
        )


def _require_one_number(line: int, cells: list[str], country: str | None) -> None:
    """Requires that a file without a header has one number: whichever was taken of two might be
    somebody else's. Raises InvalidRequest.
    """
    places = (
        [
            str(place)
            for place, cell in enumerate(cells, 1)
            if parse_phone(cell, country) is not None
        ]
        if len(cells) > 1
        else []
    )
    if len(places) > 1:
        raise InvalidRequest(
            f"The file has no header, and line {line} has numbers in columns {', '.join(places)}."
            " Put a line with the names of the columns first, and name the column of the phone"
            f" numbers {PHONE_COLUMNS[0]}."
        )


def _row(
    line: int,
    cells: list[str],
    layout: _NumbersLayout,
    country: str | None,
    home_country: str | None,
) -> NumberRow | BadNumberRow:
    if layout.names and any(cells[len(layout.names) :]):
        why = f"has {len(cells)} columns; the header has {len(layout.names)}"
        return BadNumberRow(line, why, LeftOutReason.TOO_MANY_COLUMNS)
    raw = cells[layout.phone] if layout.phone < len(cells) else ""
    phone = parse_phone(raw, country, home_country)
    if phone is None and not raw:
        return BadNumberRow(line, "has no number", LeftOutReason.NO_NUMBER)
    if phone is None:
        why = f"says {quote_value(shorten(raw, SAID_MAX))}, which is not a valid number"
        return BadNumberRow(line, why, LeftOutReason.INVALID_NUMBER)
    values = {name: value for name, value in zip(layout.names, cells, strict=False) if name}
    bad = next(
        (name for name, value in values.items() if len(value) > VALUE_MAX or "\0" in value), None
    )
    if bad is not None:
        why = f"has more than {VALUE_MAX} characters, or U+0000, in {quote_value(bad)}"
        return BadNumberRow(line, why, LeftOutReason.BAD_VALUE)
    own_name = next((value for name, value in values.items() if name.lower() == NAME), None)
    return NumberRow(line, phone, values if own_name is None else {NAME: own_name, **values})


def _layout(
    columns: Columns, country: str | None, phone_column: str | None
) -> tuple[_NumbersLayout, bool]:
    """Finds where the number stands, and whether these cells are the header. Raises
    InvalidRequest.
    """
    cells = columns.names
    if len(cells) > COLUMNS_MAX:
        raise InvalidRequest(f"The file has {len(cells)} columns; allowed: {COLUMNS_MAX}.")
    if phone_column is not None:
        phone = columns.place_of("phone", phone_column)
        return _NumbersLayout(phone, _distinct_names(columns, phone)), True
    numbers = [place for place, cell in enumerate(cells) if parse_phone(cell, country) is not None]
    named = columns.phone
    if numbers or (named is None and re.search("[0-9]", "".join(cells))):
        return _NumbersLayout(numbers[0] if numbers else 0, ()), False
    if len(cells) == 1:
        return _NumbersLayout(0, cells), True
    if named is None:
        raise InvalidRequest(
            f"The file's header must name the column of the numbers {PHONE_COLUMNS[0]} (or"
            f" {', '.join(PHONE_COLUMNS[1:])});"
            f" it names {shorten(', '.join(cells), NAMES_SAID_MAX)}."
        )
    return _NumbersLayout(named, _distinct_names(columns, named)), True


def _distinct_names(columns: Columns, phone: int) -> tuple[str, ...]:
    """Returns the names of a header, which differ. Raises InvalidRequest."""
    # spreadsheets leave columns without one behind the last
    names = [name for name in columns.names if name]
    places = range(len(columns.names))
    if len(set(names)) < len(names) or any(columns.have_one_name(place, phone) for place in places):
        has = shorten(", ".join(columns.names), NAMES_SAID_MAX)
        raise InvalidRequest(f"The file's header names a column twice: {has}.")
    return columns.names
