"""Writes the cells of CSV files so that no spreadsheet runs any of them. It is pure.

A spreadsheet runs a cell that begins with one of a few characters as a formula, and whoever can
write a contact's name or a message could write one. So such a cell is written with an apostrophe
before it, which spreadsheets take for "this is text", and read without it: it comes back as it was.
A spreadsheet may be set to another separator than the file's, and then takes a cell apart: so each
piece of a cell is treated as a cell is.
"""

import re
from collections.abc import Iterable
from typing import Final

from heliograph.base.short_texts import JOINERS

DELIMITER: Final = ","  # of files that are written
# what spreadsheets run, full width too, also behind spaces and quotes (OWASP)
_RUNS: Final = rf"['\"\s{JOINERS}]*[=+\-@＝＋－＠\t\r]"
# where a cell begins, or what another separator makes one of
_PIECE: Final = r"(?:\A|(?<=[,;\t\r\n]))"
_BARE: Final = re.compile(f"{_PIECE}(?={_RUNS})")
_MARKED: Final = re.compile(f"{_PIECE}'(?={_RUNS})")
# what a cell is quoted for, whichever of them separates cells
_QUOTED: Final = re.compile(r'[,;\t\r\n"]')


def neutralize(text: str) -> str:
    """Returns a cell of which no spreadsheet runs anything, however it takes it apart."""
    return _BARE.sub("'", text)


def without_neutralizing(cell: str) -> str:
    """Returns the cell that `neutralize` was given."""
    return _MARKED.sub("", cell) if "'" in cell else cell


def text_of_cell(cell: str) -> str:
    """Returns what a cell of a file says: without spaces around it, and as it was before it was
    made neutral.
    """
    return without_neutralizing(cell.strip()).strip()


def line_of(cells: Iterable[str], delimiter: str) -> str:
    """Returns neutral cells as a line of a file."""
    quoted = (
        '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells
    )
    return delimiter.join(quoted) + "\r\n"
