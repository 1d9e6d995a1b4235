"""Finds the columns of a CSV file: what its first line calls them, which of them is the phone, and
where the column stands that somebody names. It is pure.

Files of contacts and files of a campaign's numbers know their columns by these rules
(docs/decisions/contacts.md, C19).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base.csv.cells import text_of_cell
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field, shorten

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
_ACCENTS: Final = re.compile("[\u0300-\u036f]")  # of Latin letters, each taken apart
NAMES_SAID_MAX: Final = 200  # characters of a header's names that an error repeats


class Columns(NamedTuple):
    """Holds the columns of a file: `names` as its first line has them, and `known` as they are
    compared.
    """

    names: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def phone(self) -> int | None:
        """Returns the place of the phone column; None where a header has none. Of several names of
        it, the one that stands first in PHONE_COLUMNS counts.
        """
        return next((self.known.index(name) for name in PHONE_COLUMNS if name in self.known), None)

    def place_of(self, field: str, column: str) -> int:
        """Returns where the column stands that is named for a field. One with exactly this name
        counts before others that are compared as equal. Raises InvalidRequest.
        """
        if column in self.names:
            return self.names.index(column)
        wanted = column_name(column)
        if wanted not in self.known:
            has = shorten(", ".join(self.names), NAMES_SAID_MAX) or "none"
            raise invalid_field(
                f"{field}_column",
                f"must be a column of the file ({has}), not {quote_value(column)}",
            )
        return self.known.index(wanted)

    def have_one_name(self, place: int, other: int) -> bool:
        """Returns whether two columns have one name, so that it does not say which is meant."""
        return place != other and self.known[place] == self.known[other]


def columns_of(first: Sequence[str]) -> Columns:
    """Returns the columns that the cells of a file's first line name."""
    names = tuple(text_of_cell(cell) for cell in first)
    return Columns(names, tuple(map(column_name, names)))


def column_name(cell: str) -> str:
    """Returns a column's name as columns are compared: `Phone Number` is `phone_number`, and
    `Téléphone` is `telephone`.
    """
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", cell.strip()))
    return plain.lower().replace(" ", "_").replace("-", "_")
