"""Shows the messages of an account: a list with filters, the same as a file, and one message with
its timeline, its credits, and who was told.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, read_page
from heliograph.messages import read
from heliograph.messages.changes.events import event_ids
from heliograph.messages.doubt import trace
from heliograph.messages.doubt.segments import Segment, segments
from heliograph.messages.read.charges import charges_of
from heliograph.messages.reports import report_file, report_filters
from heliograph.messages.tables import SEND_TYPES, STATUSES
from heliograph.portal.export import pieces
from heliograph.portal.list_page import older_query
from heliograph.portal.message_pages import sought_id
from heliograph.portal.message_pages.failure_advice import ADVICE
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, Download, page
from heliograph.portal.span_fields import as_api_query, as_form_fields
from heliograph.portal.visit import MODES, Visit
from heliograph.text import split_segments
from heliograph.webhooks import endpoints, history

# The parameters that the list knows, with the words that a person reads.
LABELS: Final = {
    "find": "Id",
    "mode": "Mode",
    "status": "Status",
    "type": "Type",
    "recipient": "Recipient",
    "sender": "Sender",
    "reference": "Reference",
    "since": "Since",
    "until": "Until",
    "send_id": "Send",
    "campaignId": "Campaign",
}


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the messages that the query selects, newest first. A query that the API would refuse
    is refused with the same words, each at its field.
    """
    typed = dict(request.sent.query)
    typed["mode"] = typed.get("mode") or visit.mode
    messages_page = read.Page([], None)
    errors: list[FieldError] = []
    sought = sought_id.path_of_id(tx, visit, typed.get("find", "").strip(), typed["mode"])
    if sought is not None:
        return RedirectResponse(f"{visit.home}{sought}", SEE_OTHER, HEADERS)
    try:
        messages_page = _select(tx, request, visit)
    except InvalidRequest as refused:
        errors = list(refused.fields)
    except NotFound as refused:
        errors = [FieldError("campaignId", str(refused))]
    return page(
        "messages.html",
        request,
        status=400 if errors else 200,
        is_live=True,
        visit=visit,
        # what is older stays where it is, while somebody reads it
        is_newest=not errors and not typed.get("cursor"),
        path=f"{visit.home}/messages?{_live_query(request, typed['mode'])}",
        messages=[row(message) for message in messages_page.messages],
        older=older_query(request, messages_page.next_before),
        typed=as_form_fields(typed, visit),
        mode=typed["mode"],
        is_filtered=any(typed.get(name) for name in LABELS if name != "mode"),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in LABELS],
        file_query=_file_query(typed),
        labels=LABELS,
        modes=MODES,
        statuses=STATUSES,
        types=SEND_TYPES,
    )


def show_message(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows one message of either mode, what became of it, and what to do if it failed."""
    message = sought_id.message_of(tx, visit.account.id, request.path["message"])
    record = read.as_record(message)
    return page(
        "message.html",
        request,
        visit=visit,
        message=record,
        segments=_segments(tx, record),
        timeline=read.timeline(message),
        advice=ADVICE.get(message.error_code or ""),
        paid=charges_of(tx, message, visit.account.id),
        told=[
            (each, endpoints.text_id(each.endpoint_id))
            for each in history.deliveries_of(tx, visit.account.id, event_ids(message))
        ],
    )


def export(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the messages that the query selects as a file, newest first. Raises InvalidRequest,
    and NotFound for a campaign.
    """
    wanted = _read_query(tx, request, visit)

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        found = read.report(
            tx,
            visit.account.id,
            PageWanted(report_file.PAGE, before),
            wanted.filters,
            sandbox=wanted.sandbox,
        )
        return report_file.lines(found.messages), found.next_before

    mode = "sandbox" if wanted.sandbox else "live"
    return Download(f"messages-{mode}.csv", pieces(request, report_file.first_line(), read_lines))


def _file_query(typed: dict[str, str]) -> str:
    """Returns the query of the file with what a list selects."""
    return urlencode({name: typed[name] for name in LABELS if name != "find" and typed.get(name)})


def _live_query(request: PageRequest, mode: str) -> str:
    """Returns the query of the list as it is, for the part of it that asks again. It names the
    mode, which is another one as soon as somebody chooses that on another page.
    """
    fields = [(name, value) for name, value in request.sent.query if value and name != "mode"]
    return urlencode([("mode", mode), *fields])


class ShownSegment(NamedTuple):
    """Holds a segment of a message and the part of the text that it carries, or None if that is not
    shown.
    """

    segment: Segment
    text: str | None


def _segments(tx: Connection, record: dict[str, Any]) -> list[ShownSegment]:
    """Returns the segments of a message, in order, with what the carrier said of each."""
    found = segments(tx, trace.trace_message(tx, record["id"]))
    parts = _parts(record["message"], record["encoding"])
    if len(parts) != len(found):
        parts = [None] * len(found)
    return [ShownSegment(segment, part) for segment, part in zip(found, parts, strict=True)]


def _parts(text: str | None, encoding: str) -> Sequence[str | None]:
    """Returns the parts of a text. There are none if it is not shown, or if its encoding cannot
    hold it: nothing of ours stores such a text, but its page must not fail.
    """
    try:
        return [] if text is None else split_segments(text, encoding)
    except ValueError:
        return []


class _MessagesQuery(NamedTuple):
    """Says which messages are asked for, and which page of them."""

    sandbox: bool
    page: PageWanted
    filters: read.Filters


def _read_query(tx: Connection, request: PageRequest, visit: Visit) -> _MessagesQuery:
    """Reads the filters of the query. Raises InvalidRequest, and NotFound for a campaign."""
    query, account = Query(as_api_query(request.sent.query, visit)), visit.account
    find = query.text("find")
    if find is not None:
        query.errors.append(FieldError("find", sought_id.refusal_of(find)))
    sandbox = (query.choice("mode", MODES) or visit.mode) == "sandbox"
    wanted = read_page(query)
    filters = report_filters.read_filters(query, account.country_code)
    campaign_id = query.text("campaignId", "campaign_id")
    query.finish()
    if campaign_id is not None:
        group_id = report_filters.campaign_of(tx, account.id, campaign_id, sandbox=sandbox)
        filters = filters._replace(group_id=group_id)
    return _MessagesQuery(sandbox, wanted, filters)


def _select(tx: Connection, request: PageRequest, visit: Visit) -> read.Page:
    """Returns the page of messages that the query asks for. Raises InvalidRequest, and NotFound for
    a campaign.
    """
    wanted = _read_query(tx, request, visit)
    return read.report(tx, visit.account.id, wanted.page, wanted.filters, sandbox=wanted.sandbox)


def row(message: read.Message) -> dict[str, Any]:
    """Returns the fields of a message as a line of a table shows them."""
    return {**read.as_record(message), "created_at_ms": message.created_at_ms}
