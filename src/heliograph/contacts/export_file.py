"""Contacts are written to a file, page by page. `csv_file.py` reads it back to the same
contacts.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Final

import sqlalchemy as sa

from heliograph.base.csv.cells import DELIMITER, line_of
from heliograph.base.errors import InvalidRequest
from heliograph.contacts.contact import COLUMNS, Contact, ContactOwner, contacts_in, of_owner
from heliograph.contacts.csv_cells import COLUMNS_MAX, FIELDS, cells_of, header_of
from heliograph.contacts.tables import contacts
from heliograph.database.database import Database

PAGE: Final = 2_000  # contacts that are in memory at once


class ExportColumns:
    """Collects the columns of a file of contacts, one for each custom field that any of them has.
    Show it all contacts first; then it makes their lines.
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def add(self, page: Sequence[Contact]) -> None:
        """Adds the columns of the custom fields that these contacts have. Raises InvalidRequest
        when there are too many columns.
        """
        for contact in page:
            self._names |= dict.fromkeys(contact.custom)
        if len(self._names) > COLUMNS_MAX - len(FIELDS):
            raise InvalidRequest(
                f"The contacts have more than {COLUMNS_MAX - len(FIELDS)} different custom fields:"
                " too many columns for a file."
            )

    def first_line(self) -> str:
        return line_of(header_of(sorted(self._names)), DELIMITER)

    def lines(self, page: Sequence[Contact]) -> list[str]:
        """Returns a line for each contact. A custom field that came up since they were shown has no
        column, and is left out.
        """
        columns = sorted(self._names)
        return [line_of(cells_of(contact, columns), DELIMITER) for contact in page]


def write(
    db: Database,
    owner: ContactOwner,
    file: IO[str],
    tell: Callable[[int], object] = lambda more: None,
) -> int:
    """Writes all contacts of an owner, in the order in which they were made, and returns how many.
    `tell` is called after each page.

    They are read twice, for the columns and for the cells. A custom field that comes up between is
    left out. Raises InvalidRequest when there are too many columns.
    """
    columns = ExportColumns()
    for page in _pages(db, owner):
        columns.add(page)
        tell(len(page))
    file.write(columns.first_line())
    written = 0
    for page in _pages(db, owner):
        file.writelines(columns.lines(page))
        written += len(page)
        tell(len(page))
    return written


def count(db: Database, owner: ContactOwner) -> int:
    """Returns how many contacts there are."""
    with db.read() as tx:
        return tx.execute(
            sa.select(sa.func.count()).select_from(contacts).where(of_owner(owner))
        ).scalar_one()


def _pages(db: Database, owner: ContactOwner) -> Iterator[list[Contact]]:
    """Yields pages of contacts, oldest first. Each page has a transaction of its own, so that
    none stays open as long as a file takes.
    """
    after = ""
    while True:
        query = sa.select(*COLUMNS).where(of_owner(owner)).order_by(contacts.c.id).limit(PAGE)
        with db.read() as tx:
            page = contacts_in(tx.execute(query.where(contacts.c.id > after) if after else query))
        if not page:
            return
        after = page[-1].id
        yield page
