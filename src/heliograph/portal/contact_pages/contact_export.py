"""The contacts of a list are saved as a CSV file, with the columns and the safe cells of `contact
export`.

The file is made page by page, each in a transaction of its own, as it is sent. Its columns are
known when all contacts were read once.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import contacts
from heliograph.base import clock
from heliograph.base.forms import Query
from heliograph.contacts import Contact
from heliograph.contacts.export_file import PAGE, ExportColumns
from heliograph.portal.contact_pages.contacts import ContactsQuery, read_contacts_query
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download
from heliograph.portal.visit import Visit, visit_of


def export(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the contacts that the query selects as a file, newest first. Raises
    InvalidRequest.
    """
    query = Query(request.sent.query)
    wanted = read_contacts_query(query, visit)
    query.finish()
    mode = "sandbox" if wanted.owner.sandbox else "live"
    return Download(f"contacts-{mode}.csv", _file(request, wanted))


def _file(request: PageRequest, wanted: ContactsQuery) -> Iterator[str]:
    columns = ExportColumns()
    for page in _pages(request, wanted):
        columns.add(page)
        yield ""
    yield columns.first_line()
    for page in _pages(request, wanted):
        yield "".join(columns.lines(page))


def _pages(request: PageRequest, wanted: ContactsQuery) -> Iterator[Sequence[Contact]]:
    """Yields pages of contacts, each only as long as the visitor may still see them. Raises
    NotSignedIn and NotFound.
    """
    before: str | None = None
    while True:
        with request.db.read() as tx:
            visit_of(tx, request._replace(now_ms=clock.now_ms()))
            found = contacts.newest(tx, wanted.owner, wanted.needle, limit=PAGE, before=before)
        if not found:
            return
        before = found[-1].id
        yield found
