"""Shows the request log: what requests with the account's keys were answered in the last week. All
failures are there, up to a limit a second, and a sample of the others.
"""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import keys, requests
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.portal.list_page import ListPage, list_page, page_or_errors, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit
from heliograph.requests import LoggedRequest, RequestFilter

FIELDS: Final = ("mode", "show", "id")
SHOW: Final = {"failures": True, "successes": False}


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the requests that the query selects, newest first."""
    typed = dict(request.sent.query)
    typed["mode"] = typed.get("mode") or visit.mode
    found, errors = page_or_errors(lambda: _select(tx, request, visit))
    return page(
        "request_log.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        requests=[(requests.text_id(logged), logged) for logged in found.rows],
        key_names=keys.names_of(tx, visit.account.id, {logged.key_id for logged in found.rows}),
        older=found.older,
        typed=typed,
        is_filtered=any(typed.get(name) for name in FIELDS if name != "mode"),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        show=tuple(SHOW),
    )


def _select(tx: Connection, request: PageRequest, visit: Visit) -> ListPage[LoggedRequest]:
    """Returns the page of logged requests that the query asks for. Raises InvalidRequest."""
    query = Query(request.sent.query)
    sandbox = (query.choice("mode", visit.modes) or visit.mode) == "sandbox"
    show = query.choice("show", tuple(SHOW))
    wanted = read_page(query)
    request_id = _request_id(query)
    query.finish()
    found = requests.requests_page(
        tx,
        visit.account.id,
        RequestFilter(None if show is None else SHOW[show], request_id),
        with_one_more_row(wanted),
        sandbox=sandbox,
    )
    return list_page(request, wanted, found, lambda logged: logged.id)


def _request_id(query: Query) -> str | None:
    """Returns the raw form of the request id that is looked for."""
    text = query.text("id")
    if text is None:
        return None
    raw = requests.raw_request_id(text.strip())
    if raw is None:
        query.errors.append(
            FieldError(
                "id",
                "must be what an answer had in X-Request-Id, req_ and 32 hexadecimal digits, not"
                f" {quote_value(text)}",
            )
        )
    return raw
