"""Reads a CSV file as it streams: with or without a byte order mark; `,`, `;` or tab between cells;
quoted cells (RFC 4180). It is the one reader of such files: contacts, a campaign's numbers and rate
sheets (docs/decisions/contacts.md, C19).
"""

import csv
import re
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import chain
from typing import IO, Final, TextIO

from heliograph.base.csv.columns import columns_of
from heliograph.base.csv.records import Record, read_records
from heliograph.base.errors import InvalidRequest
from heliograph.base.short_texts import BYTE_ORDER_MARK

# characters; a contact has at most 30,000, and a file that is not text has no ends of lines
LINE_MAX: Final = 65_536
DELIMITERS: Final = (",", ";", "\t")
EMPTY_LINES_MAX: Final = 100  # before the first one that holds something, to find the delimiter in
NOT_UTF_8: Final = "is not UTF-8"
# how files of other kinds begin, where octets that are not UTF-8 were read as lone surrogates
_OTHER_KINDS: Final = (
    # a byte order mark of UTF-16
    (("\udcff\udcfe", "\udcfe\udcff"), "The file is UTF-16; save it as UTF-8."),
    # a ZIP file, and an XLSX or ODS workbook is one
    (("PK\x03\x04",), "The file is a workbook; save it as CSV."),
    # a compound file (MS-CFB, 2.2), of which programs of before 2007 make workbooks
    (
        ("\udcd0\udccf\x11\u0871\x1a\udce1",),
        "The file is a workbook of an old kind (.xls); save it as CSV in UTF-8.",
    ),
    (("%PDF-",), "The file is a PDF document; choose a CSV file in UTF-8."),
    (
        ("\udc89PNG\r\n", "\udcff\udcd8\udcff", "GIF8"),
        "The file is an image; choose a CSV file in UTF-8.",
    ),
)
# how a web page begins; some programs save such a one as .xls
_WEB_PAGE: Final = re.compile(
    r"\s*<(?:!--|(?:!doctype html|html|head|body|table|\?xml)\b)", re.IGNORECASE
)
_DELIMITER_LINE: Final = re.compile(r'("?)sep=(?P<mark>[,;\t])\1\r?\n?', re.IGNORECASE)


def text_of(octets: IO[bytes]) -> TextIO:
    """Returns the text of a file. Octets that are not UTF-8 are read as lone surrogates, so that
    the row that has them can be named.
    """
    return TextIOWrapper(octets, encoding="utf-8", errors="surrogateescape", newline="")


class CsvReader:
    """Reads the text of a file, as `text_of` has returned it. `records` are those that hold
    something, with the cells as they stand there; `delimiter` was found in the first line that
    holds something. A line `sep=;` before all others, also in quotes, says which it is, as
    spreadsheets write it.

    Raises InvalidRequest for a file in UTF-16 and for one that is no text or a web page, and while
    it is read for a line of more than LINE_MAX characters and where records cannot be told apart
    any more.
    """

    def __init__(self, file: IO[str]) -> None:
        lines = _lines(file)
        begin = [first := next(lines, "")]
        said = _DELIMITER_LINE.fullmatch(first)
        if said:
            begin, first = ["\n"], ""  # it holds no record, and counts as a line
        while first and not first.strip() and len(begin) < EMPTY_LINES_MAX:
            begin.append(first := next(lines, ""))
        _refuse_web_page(first)
        self.delimiter = (
            said["mark"]
            if said
            else max(DELIMITERS, key=lambda delimiter: _fitness(first, delimiter))
        )
        self.records = _skip_empty(read_records(chain(begin, lines), self.delimiter))

    def first(self) -> Record | None:
        """Returns the record that says what the columns are; None of a file that holds nothing.
        Raises InvalidRequest if it cannot be read: then nobody knows what the others mean.
        """
        record = next(self.records, None)
        if record is not None and record.why:
            if record.why == NOT_UTF_8:
                raise InvalidRequest("The first line is not UTF-8; save the file as UTF-8.")
            raise InvalidRequest(f"Line {record.line} {record.why}.")
        return record


def _skip_empty(records: Iterator[Record]) -> Iterator[Record]:
    """Yields the records that hold something, and marks those that are not UTF-8."""
    for record in records:
        if any(map(str.strip, record.cells)) or record.why:
            is_utf_8 = record.why or all(map(_is_utf_8, record.cells))
            yield record if is_utf_8 else record._replace(why=NOT_UTF_8)


def _is_utf_8(cell: str) -> bool:
    return cell.isascii() or not any("\ud800" <= character <= "\udfff" for character in cell)


def _refuse_other_kinds(start: str) -> None:
    """Raises InvalidRequest for what is known by how it begins, however long its first line is."""
    for starts, why in _OTHER_KINDS:
        if start.startswith(starts):
            raise InvalidRequest(why)
    _refuse_web_page(start)


def _refuse_web_page(line: str) -> None:
    if _WEB_PAGE.match(line):
        raise InvalidRequest("The file is a web page (HTML); choose a CSV file in UTF-8.")


def _lines(file: IO[str]) -> Iterator[str]:
    line = file.readline(LINE_MAX + 1).removeprefix(BYTE_ORDER_MARK)
    _refuse_other_kinds(line)
    number = 1
    while line:
        if len(line) > LINE_MAX:
            raise InvalidRequest(f"Line {number} has more than {LINE_MAX} characters.")
        yield line
        line, number = file.readline(LINE_MAX + 1), number + 1


def _fitness(line: str, delimiter: str) -> tuple[bool, int]:
    """Says how well the delimiter takes the first line apart: whether there is a phone column, then
    into how many cells.
    """
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a carriage return within the line
        cells = line.split(delimiter)
    return columns_of(cells).phone is not None, len(cells)
