"""A CSV file of contacts is uploaded and stored, and a page reports what became of its rows, as
`contact import` does.
"""

from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import FieldError, InvalidRequest, ServiceError
from heliograph.base.short_texts import refused
from heliograph.contacts import ContactOwner
from heliograph.contacts.csv_cells import Layout
from heliograph.contacts.csv_file import BadContactRow, ContactRow, Sheet, text_of
from heliograph.contacts.import_file import Import
from heliograph.portal.contact_pages.contacts import changer_of, read_owner
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX
from heliograph.portal.visit import Visit, visit_of
from heliograph.text import read_country
from heliograph.users import Right

ROWS_MAX: Final = 20_000  # stored within some seconds, in which a thread of the pages is busy
# the fields that a column can be named for
NAMED: Final = ("phone", "name", "email", "tags")
FIELDS: Final = ("file", "mode", "country_code", *(f"{field}_column" for field in NAMED))


class UploadedSheet(NamedTuple):
    """A file that can be stored, and whose contacts it has."""

    owner: ContactOwner
    layout: Layout
    rows: Sequence[ContactRow | BadContactRow]


def ask(
    tx: Connection, asking: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that takes a file."""
    visit.require(tx, Right.CONTACTS)
    query = dict(asking.sent.query)
    return page(
        "contact_import.html",
        asking,
        status=400 if errors else 200,
        visit=visit,
        typed={"mode": query.get("mode") or visit.mode, **asking.sent.form},
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        names_columns=any(asking.sent.form.get(f"{field}_column") for field in NAMED),
        rows_max=ROWS_MAX,
        mebibytes_max=UPLOAD_OCTETS_MAX // 1_024**2,
    )


def store(asking: PageRequest) -> Response:
    """Stores the rows of a file, in several transactions, and says what became of them."""
    with asking.db.read() as tx:
        visit = visit_of(tx, asking)
        visit.require(tx, Right.CONTACTS)
    try:
        sheet = _read(asking, visit)
    except InvalidRequest as wrong:
        errors = wrong.fields or [FieldError("file", f"cannot be imported. {wrong}")]
        with asking.db.read() as tx:
            return ask(tx, asking, visit, errors)
    with asking.db.write() as tx:  # before the first of the transactions that store contacts
        visit.audit(tx, asking, "contact.import", detail=f"{len(sheet.rows)} rows of a file")
    done, ended_by = Import(asking.db, sheet.owner, changer_of(visit)), None
    try:
        for _ in done.run(sheet.rows):
            pass
    except ServiceError as error:  # what is committed stays
        ended_by = error
    return page(
        "contacts_imported.html",
        asking,
        status=ended_by.status if ended_by else 200,
        visit=visit,
        done=done,
        columns=sheet.layout.understood,
        mode="sandbox" if sheet.owner.sandbox else "live",
        ended_by=ended_by,
    )


def _read(asking: PageRequest, visit: Visit) -> UploadedSheet:
    """Reads the whole file before any of it is stored. Raises InvalidRequest."""
    owner, typed = read_owner(asking, visit), asking.sent.form.get("country_code", "").strip()
    try:
        country = read_country(typed) if typed else None
    except ValueError as error:
        raise refused("country_code", str(error)) from error
    if not asking.sent.file:
        raise refused("file", "is required, and must not be empty")
    form = asking.sent.form
    columns = {
        field: column for field in NAMED if (column := form.get(f"{field}_column", "").strip())
    }
    sheet = Sheet(text_of(BytesIO(asking.sent.file)), country, visit.account.country_code, columns)
    rows = list(islice(sheet.rows(), ROWS_MAX + 1))
    if len(rows) > ROWS_MAX:
        raise refused("file", f"must have at most {ROWS_MAX:,} rows; split it")
    return UploadedSheet(owner, sheet.layout, rows)
