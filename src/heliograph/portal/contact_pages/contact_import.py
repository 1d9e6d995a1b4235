"""A CSV file of contacts is uploaded and stored. A page says how far its import is, and at the end
what became of its rows, as `contact import` does.
"""

from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.csv.reader import text_of
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.contacts import ContactOwner, stored_import
from heliograph.contacts.csv_file import Sheet
from heliograph.contacts.stored_import import FileToImport
from heliograph.portal.contact_pages.contacts import read_owner
from heliograph.portal.form_idempotency import redirect_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX
from heliograph.portal.visit import Visit, visit_of
from heliograph.text import read_country
from heliograph.users import Right

ROWS_MAX: Final = 20_000  # read within a second, in which a thread of the pages is busy
LISTED_MAX: Final = 5  # imports that can be looked at again
# the fields that a column can be named for
NAMED: Final = ("phone", "name", "email", "tags")
FIELDS: Final = ("file", "mode", "country_code", *(f"{field}_column" for field in NAMED))


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that takes a file."""
    visit.require(tx, Right.CONTACTS)
    query = dict(request.sent.query)
    return page(
        "contact_import.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        typed={"mode": query.get("mode") or visit.mode, **request.sent.form},
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        names_columns=any(request.sent.form.get(f"{field}_column") for field in NAMED),
        rows_max=ROWS_MAX,
        imports=stored_import.newest_imports(tx, visit.account.id, limit=LISTED_MAX),
        mebibytes_max=UPLOAD_OCTETS_MAX // 1_024**2,
    )


def store(request: PageRequest) -> Response:
    """Stores a file, and leads to the page that says how far its import is."""
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.CONTACTS)
    try:
        owner, file = _read(request, visit)
    except InvalidRequest as wrong:
        errors = wrong.fields or [FieldError("file", f"cannot be imported. {wrong}")]
        with request.db.read() as tx:
            return show_form(tx, request, visit, errors)

    def begin(tx: Connection, request: PageRequest, visit: Visit) -> Response:
        by = visit.session.user.email
        import_id = stored_import.begin(tx, owner, file, by, now_ms=request.now_ms)
        rows = "1 row of a file" if file.rows == 1 else f"{file.rows:,} rows of a file"
        visit.audit(tx, request, "contact.import", import_id, rows)
        return redirect(f"{visit.home}/contacts/imports/{import_id}")

    # again, if a button of another import was in its way
    return request.db.transact(lambda tx: redirect_once(begin)(tx, request, visit))


def show_import(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows how far an import is, or what became of its rows."""
    found = stored_import.import_by_id(tx, visit.account.id, request.path["file"])
    return page(
        "contacts_imported.html",
        request,
        is_live=True,
        visit=visit,
        done=found,
        is_interrupted=found.is_interrupted(request.now_ms),
        mode="sandbox" if found.sandbox else "live",
        may_change=visit.may(Right.CONTACTS),
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Stops an import, or lets a stopped one go on. Raises NotFound, and InvalidRequest."""
    found = stored_import.import_by_id(tx, visit.account.id, request.path["file"])
    match request.sent.form.get("do"):
        case "stop":
            is_changed = stored_import.stop(tx, found)
        case "go_on":
            is_changed = _resume(tx, request, visit, found)
        case unknown:
            raise InvalidRequest(f"{quote_value(unknown or '')} is no button of this page.")
    if is_changed:
        visit.audit(tx, request, f"contact.import_{request.sent.form['do']}", found.text_id)
    path = f"{visit.home}/contacts/imports/{found.text_id}"
    return redirect(path, None if is_changed else DoneNotice.DONE_ALREADY)


def _resume(
    tx: Connection, request: PageRequest, visit: Visit, stopped: stored_import.StoredImport
) -> bool:
    """Lets an import go on. Returns False if it does so already: another tab was faster. Raises
    what `go_on` raises.
    """
    try:
        stored_import.go_on(tx, stopped, now_ms=request.now_ms)
    except stored_import.ImportRunning:
        if not stored_import.import_by_id(tx, visit.account.id, stopped.text_id).is_running:
            raise
        return False
    return True


def _read(request: PageRequest, visit: Visit) -> tuple[ContactOwner, FileToImport]:
    """Reads the whole file before it is stored, and says whose contacts it has. Raises
    InvalidRequest.
    """
    form = request.sent.form
    owner, typed = read_owner(request, visit), form.get("country_code", "").strip()
    try:
        country = read_country(typed) if typed else None
    except ValueError as error:
        raise invalid_field("country_code", str(error)) from error
    octets = request.sent.file
    if not octets:
        raise invalid_field("file", "is required, and must not be empty")
    columns = {
        field: column for field in NAMED if (column := form.get(f"{field}_column", "").strip())
    }
    sheet = Sheet(text_of(BytesIO(octets)), country, visit.account.country_code, columns)
    rows = sum(1 for _ in islice(sheet.rows(), ROWS_MAX + 1))
    if rows > ROWS_MAX:
        raise invalid_field("file", f"must have at most {ROWS_MAX:,} rows; split it")
    return owner, FileToImport(octets, country, columns, rows, sheet.layout.understood)
