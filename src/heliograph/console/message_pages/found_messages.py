"""Finds messages of all accounts, and shows what waits for an operator."""

from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import accounts
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.console.message_pages.carrier_choice import (
    CarrierNames,
    carrier_names,
    work_by_carrier,
)
from heliograph.console.navigation import MESSAGES
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.messages.doubt import trace, work_lists
from heliograph.messages.doubt.find import SOUGHT_MAX, SearchQuery, find
from heliograph.messages.read import as_record
from heliograph.portal.list_page import older_query
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER

MESSAGES_SHOWN_MAX: Final = 50


class ListedMessage(NamedTuple):
    """Holds a message as a line of a list: its record without the text, and whose it is."""

    record: dict[str, Any]
    created_at_ms: int
    account: str
    account_name: str
    carrier: str
    in_doubt_since_ms: int | None
    resend_at_ms: int | None  # None: it is not sent again by itself


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the messages that were looked for, newest first; one that is named by its id is shown
    itself.
    """
    query = Query(request.sent.query)
    text = (query.text("q", most=SOUGHT_MAX) or "").strip()
    page_wanted = read_page(query, most=MESSAGES_SHOWN_MAX)
    account_id = _account(tx, query)
    errors: list[FieldError] = []
    search = None
    try:
        query.finish()
        if text:
            search = find(
                tx,
                SearchQuery(text, account_id, page_wanted.before),
                limit=min(page_wanted.limit, MESSAGES_SHOWN_MAX),
                now_ms=request.now_ms,
            )
    except InvalidRequest as refused:
        errors = list(refused.fields)
    names = carrier_names(tx)
    rows = listed_messages(tx, search.rows if search is not None else [], names)
    if search is not None and search.meanings == ("message",) and rows:
        return RedirectResponse(f"{MESSAGES}/{rows[0].record['id']}", SEE_OTHER, HEADERS)
    return page(
        "found_messages.html",
        request,
        visit,
        status=400 if errors else 200,
        messages=rows,
        is_first=page_wanted.before is None,
        older=older_query(request, search.before) if search is not None else None,
        since_ms=search.since_ms if search is not None else None,
        work=work_by_carrier(tx, names) if not text else [],
        counted_max=work_lists.COUNTED_MAX,
        typed={**dict(request.sent.query), "q": text},
        errors={error.field: error.message for error in errors},
    )


def _account(tx: Connection, query: Query) -> str | None:
    """Reads whose messages are looked for. What is wrong is added to the query's errors."""
    account = query.text("account")
    if account is None:
        return None
    try:
        return accounts.find(tx, account.strip()).id
    except (NotFound, InvalidRequest) as refused:
        query.errors.append(FieldError("account", f"was not found: {refused}"))
        return None


def listed_messages(
    tx: Connection, traced_messages: list[trace.TracedMessage], names: CarrierNames
) -> list[ListedMessage]:
    """Returns messages as lines of a list."""
    owners = accounts.by_ids(tx, {traced.account_id for traced in traced_messages})
    lines, resending = [], names.resending
    for traced in traced_messages:
        record = as_record(traced.message)
        record.pop("message")
        owner, doubts = owners[traced.account_id], traced.doubts
        lines.append(
            ListedMessage(
                record,
                traced.message.created_at_ms,
                account=accounts.text_id(owner),
                account_name=owner.name,
                carrier=names.of(doubts[0].carrier_id if doubts else traced.carrier_id),
                in_doubt_since_ms=min((doubt.since_ms for doubt in doubts), default=None),
                resend_at_ms=trace.resend_at_ms(traced, carriers_that_resend=resending),
            )
        )
    return lines
