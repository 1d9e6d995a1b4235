"""Turns the fields of contacts into the cells of a file, and cells into fields again. It is pure.
Cells are neutral, and come back as they were.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from heliograph.base.csv.cells import neutralize, text_of_cell
from heliograph.base.csv.columns import (
    NAMES_SAID_MAX,
    PHONE_COLUMNS,
    column_name,
    columns_of,
)
from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import shorten
from heliograph.contacts.change import ContactPatch
from heliograph.contacts.contact import Contact
from heliograph.contacts.fields import (
    TAG_SEPARATOR,
    read_custom_name,
    read_custom_value,
    read_email,
    read_name,
    read_tags,
)
from heliograph.text import read_country, read_phone

# columns of every file that is written
FIELDS: Final = ("phone", "name", "email", "tags", "opted_out")
COLUMNS_MAX: Final = 1_000  # of a file
WRONG_SAID_MAX: Final = 10  # columns that are wrong
COUNTRY_COLUMNS: Final = ("country_code", "countrycode")
# before the name of a custom field that would be taken for something else
CUSTOM_MARK: Final = "custom."
COMMENT_MARK: Final = "#"  # a column that is not read
_LINE_END: Final = re.compile(r"\s*[\r\n\t]\s*")  # in a cell; a contact's fields are one line
_YES: Final = ("yes", "true", "1", "y", "x")
_NO: Final = ("no", "false", "0", "n")


def header_of(custom_names: Sequence[str]) -> list[str]:
    """Returns the columns of a file with these custom fields."""
    marked = [f"{CUSTOM_MARK}{name}" if _is_taken(name) else name for name in custom_names]
    return [*FIELDS, *(neutralize(name) for name in marked)]


def cells_of(contact: Contact, custom_names: Sequence[str]) -> list[str]:
    """Returns a contact's row under `header_of(custom_names)`."""
    fields = (
        contact.phone,
        contact.name or "",
        contact.email or "",
        TAG_SEPARATOR.join(contact.tags),
        "yes" if contact.opted_out else "no",
    )
    return [
        neutralize(cell)
        for cell in (*fields, *(contact.custom.get(name, "") for name in custom_names))
    ]


class Layout(NamedTuple):
    """Maps fields, and names of custom fields, to the positions of their cells in a row. `names`
    holds all columns, as the file has them.
    """

    fields: Mapping[str, int]
    custom: Mapping[str, int]
    names: Sequence[str]

    @property
    def unread(self) -> list[str]:
        """Returns the columns that are left alone: they are marked so, or have no name."""
        read = {*self.fields.values(), *self.custom.values()}
        return [
            name or f"column {place + 1}"
            for place, name in enumerate(self.names)
            if place not in read
        ]

    @property
    def understood(self) -> dict[str, list[str]]:
        """Returns how the columns were understood: `fields` with what the file calls them, custom
        fields, and those that were not read.
        """
        named = {field: self.names[place] for field, place in self.fields.items()}
        return {
            "fields": [
                field if name.lower() == field else f"{field} ({name})"
                for field, name in named.items()
            ],
            "custom": list(self.custom),
            "not_read": self.unread,
        }


def layout_of(header: Sequence[str], columns: Mapping[str, str] = MappingProxyType({})) -> Layout:
    """Returns how the columns of a file are understood. `columns` says what the file calls a field;
    those that it does not name are known by their names.

    Raises InvalidRequest, which names every column that is wrong.
    """
    named = columns_of(header)
    names, known = named
    chosen = {field: named.place_of(field, column) for field, column in columns.items()}
    phone = chosen.get("phone", named.phone)
    if phone is None:
        named_columns = (
            shorten(", ".join(quote_value(name) for name in names), NAMES_SAID_MAX) or "nothing"
        )
        raise InvalidRequest(
            "The first line must name the columns, and one of them must be phone (or"
            f" {', '.join(PHONE_COLUMNS[1:])}); it has {named_columns}."
        )
    fields, custom = {"phone": phone}, dict[str, int]()
    wrong: list[str] = []
    for column_index, name in enumerate(names):
        field = "country_code" if known[column_index] in COUNTRY_COLUMNS else known[column_index]
        try:
            if column_index == phone or name == "" or name.startswith(COMMENT_MARK):
                continue
            if column_index in chosen.values():
                field = next(
                    named_field for named_field, column in chosen.items() if column == column_index
                )
            elif field in chosen:
                continue  # another column has been named for it
            if named.have_one_name(column_index, phone):
                field = "phone"
            if field in (*FIELDS, "country_code"):
                _set_place(fields, field, column_index)
            else:
                _set_place(custom, read_custom_name(name.removeprefix(CUSTOM_MARK)), column_index)
        except ValueError as error:
            wrong.append(f"column {column_index + 1}, {quote_value(name)}, {error}")
    if len(names) > COLUMNS_MAX:
        raise InvalidRequest(f"The file has {len(names)} columns; {COLUMNS_MAX} are allowed.")
    if wrong:
        more = [f"and {len(wrong) - WRONG_SAID_MAX} more"] if len(wrong) > WRONG_SAID_MAX else []
        raise InvalidRequest(
            f"The first line is wrong: {'; '.join(wrong[:WRONG_SAID_MAX] + more)}."
        )
    return Layout(fields, custom, names)


def change_of(
    cells: Sequence[str], layout: Layout, country: str | None, home_country: str | None = None
) -> ContactPatch:
    """Returns what a row says of its contact. A column that is there changes the contact, and an
    empty cell clears; an empty `opted_out` changes nothing. Empty cells beyond the last column,
    as spreadsheets leave them, count for nothing. Raises ValueError for all that is wrong with
    it.
    """
    if len(cells) < len(layout.names) or any(map(str.strip, cells[len(layout.names) :])):
        has = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
        raise ValueError(f"has {has}, but the first line has {len(layout.names)}")
    read = _CellReader()
    own_country = read(layout.fields, "country_code", cells, read_country)
    phone = read(
        layout.fields,
        "phone",
        cells,
        lambda text: read_phone(text, own_country or country, home_country),
        required=True,
    )
    given: dict[str, Any] = {}
    for field, reads in _READS.items():
        if field in layout.fields:
            given[field] = read(layout.fields, field, cells, reads) or (
                () if field == "tags" else None
            )
    opted_out = read(layout.fields, "opted_out", cells, _read_opted_out)
    if opted_out is not None:
        given["opted_out"] = opted_out
    parts = {name: read(layout.custom, name, cells, read_custom_value) for name in layout.custom}
    if read.wrong:
        raise ValueError("; ".join(read.wrong))
    return ContactPatch(phone, given, parts)


class _CellReader:
    """Reads cells one by one, and keeps what is wrong with any of them."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def __call__(
        self,
        places: Mapping[str, int],
        name: str,
        cells: Sequence[str],
        reads: Any,
        *,
        required: bool = False,
    ) -> Any:
        """Reads a cell, and returns None for one that is empty, not there, or wrong."""
        if name not in places:
            return None
        text = _LINE_END.sub(" ", text_of_cell(cells[places[name]]))
        if not text:
            if required:
                self.wrong.append(f"{name} is empty")
            return None
        try:
            return reads(text)
        except ValueError as error:  # of BadParts, which has no text of its own, the first part's
            parts = getattr(error, "parts", None)
            self.wrong.append(f"{name} {parts[0].message if parts else error}")
            return None


def _read_tags(text: str) -> tuple[str, ...]:
    return read_tags([tag for tag in text.split(TAG_SEPARATOR) if tag.strip()])


def _read_opted_out(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError(f"must be yes or no, not {quote_value(text)}")
    return text.lower() in _YES


_READS: Final[dict[str, Callable[[str], Any]]] = {
    "name": read_name,
    "email": read_email,
    "tags": _read_tags,
}


def _is_taken(name: str) -> bool:
    """Returns whether a column of this name would not be read as the custom field."""
    return column_name(name) in (*FIELDS, *COUNTRY_COLUMNS) or name.startswith(
        (CUSTOM_MARK, COMMENT_MARK)
    )


def _set_place(places: dict[str, int], name: str, place: int) -> None:
    if name in places:
        raise ValueError(f"is a second column for {name}: column {places[name] + 1} is the first")
    places[name] = place
