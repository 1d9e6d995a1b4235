"""Lists a carrier's receipts that found no message, oldest first, and gives one to a message. What
that will do is shown before.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import Carrier, setting
from heliograph.console.message_pages.carrier_choice import (
    WorkOfCarrier,
    carrier_names,
    chosen_carrier,
    work_by_carrier,
)
from heliograph.console.message_pages.credit_words import credits_in_words
from heliograph.console.message_pages.found_messages import listed_messages
from heliograph.console.navigation import UNMATCHED
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.messages.carrier import facts_of
from heliograph.messages.doubt import audited_decisions, trace, unmatched, work_lists
from heliograph.messages.doubt.decide import DecisionResult
from heliograph.messages.doubt.unmatched import CANDIDATES_MAX, ReceiptToMatch
from heliograph.messages.read import MESSAGE_PREFIX
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, DoneNotice, redirect

RECEIPTS_SHOWN_MAX: Final = 50
RECEIPT_ID_MAX: Final = 130  # a carrier's name, a slash and its id
AFTER: Final = re.compile(r"([0-9]{1,15})\.(.{1,65})", re.ASCII)


class ListedReceipt(NamedTuple):
    """Holds a receipt as a line of a list: why it found nothing, and which messages in doubt it may
    be of (text ids).
    """

    receipt: ReceiptToMatch
    text_id: str
    why: str
    may_be: list[str]


class ChosenReceipt(NamedTuple):
    """Holds the receipt that is to be given to a message, and its carrier."""

    carrier: Carrier
    line: ListedReceipt


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows receipts that found no message, of the carrier that is asked for."""
    query = Query(request.sent.query)
    asked, after = query.text("carrier"), query.text("after", most=RECEIPT_ID_MAX)
    cursor = AFTER.fullmatch(after) if after is not None else None
    if after is not None and cursor is None:
        query.errors.append(FieldError("after", "must be what the link to a page has"))
    query.finish()
    work = work_by_carrier(tx, carrier_names(tx))
    carrier = chosen_carrier(work, asked, "unmatched")
    found = (
        work_lists.oldest_unmatched(
            tx,
            carrier.id,
            cursor and work_lists.ReceiptCursor(int(cursor[1]), cursor[2]),
            RECEIPTS_SHOWN_MAX + 1,
        )
        if carrier
        else []
    )
    return page(
        "unmatched_receipts.html",
        request,
        visit,
        work=work,
        carrier=carrier,
        receipts=_lines(tx, found[:RECEIPTS_SHOWN_MAX], carrier.name if carrier else ""),
        later=_later(carrier, found),
        counted_max=work_lists.COUNTED_MAX,
    )


def _later(carrier: WorkOfCarrier | None, found: Sequence[ReceiptToMatch]) -> str | None:
    if carrier is None or len(found) <= RECEIPTS_SHOWN_MAX:
        return None
    last = work_lists.cursor_at(found[RECEIPTS_SHOWN_MAX - 1])
    return urlencode({"carrier": carrier.id, "after": f"{last.at_ms}.{last.ref_or_row_id}"})


def _lines(
    tx: Connection, found: Sequence[ReceiptToMatch], carrier_name: str
) -> list[ListedReceipt]:
    return [
        ListedReceipt(
            receipt,
            unmatched.text_id(receipt, carrier_name),
            unmatched.why_unmatched(receipt),
            [ids.text_of_raw(MESSAGE_PREFIX, each) for each in messages[:CANDIDATES_MAX]],
        )
        for receipt, messages in zip(found, unmatched.candidates(tx, found), strict=True)
    ]


def show_receipt(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    tried: DecisionResult | None = None,
) -> Response:
    """Shows a receipt, and the form that gives it to a message. Without a receipt it leads to the
    list. Raises NotFound.
    """
    if not _typed_message_id(request):
        return RedirectResponse(UNMATCHED, SEE_OTHER, HEADERS)
    receipt = _receipt(tx, request)
    typed = {**dict(request.sent.query), **body_of(request)}
    found = [] if tried is None else trace.traced_by_ids(tx, [tried.message_id])
    return page(
        "unmatched_receipt.html",
        request,
        visit,
        status=400 if errors else 200,
        carrier=receipt.carrier,
        line=receipt.line,
        tried=tried,
        message=next(iter(listed_messages(tx, found, carrier_names(tx))), None),
        typed=typed,
        errors={error.field: error.message for error in errors},
    )


def match(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives the receipt to the message, or shows before what that would do. Raises InvalidRequest
    and NotFound.
    """
    chosen_receipt, is_tried = _receipt(tx, request), request.sent.form.get("do") != "match"
    traced = trace.trace_message(tx, _message_id(request))
    if is_tried:
        tried = audited_decisions.preview_of(
            tx, lambda: _matched(tx, request, visit, chosen_receipt, traced.message.id)
        )
        return show_receipt(tx, request, visit, tried=tried)
    try:
        reason = reason_of(request)
    except InvalidRequest as missing:
        tried = audited_decisions.preview_of(
            tx, lambda: _matched(tx, request, visit, chosen_receipt, traced.message.id)
        )
        return show_receipt(tx, request, visit, missing.fields, tried)
    done = _matched(tx, request, visit, chosen_receipt, traced.message.id)
    visit.audit(
        tx,
        traced.account_id,
        "message.match",
        ids.text_of_raw(MESSAGE_PREFIX, traced.message.id),
        before=traced.message.status,
        after=f"{done.status}, {credits_in_words(done.credits_refunded)}",
        reason=reason,
    )
    return redirect(f"{UNMATCHED}?carrier={chosen_receipt.carrier.id}", DoneNotice.SAVED)


def _message_id(request: PageRequest) -> str:
    message_id = body_of(request).get("message", "")
    try:
        trace.raw_of(message_id)
    except NotFound as none:
        raise invalid_field("message", "must be the id of a message, such as msg_01k5…") from none
    return message_id


def _matched(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    receipt: ChosenReceipt,
    message_id: str,
) -> DecisionResult:
    """Gives the receipt to the message (raw id). What speaks against that stands at the field."""
    wanted = audited_decisions.ReceiptMatch(
        receipt.line.text_id, message_id, as_one=setting(receipt.carrier, "long") == "payload"
    )
    try:
        return audited_decisions.match(
            tx, facts_of(receipt.carrier), wanted, visit.by, request.now_ms
        )
    except InvalidRequest as unlike:
        raise invalid_field("message", f"cannot be this one: {unlike}") from unlike


def _typed_message_id(request: PageRequest) -> str:
    return request.sent.all_fields.get("receipt", "")[:RECEIPT_ID_MAX]


def _receipt(tx: Connection, request: PageRequest) -> ChosenReceipt:
    """Returns the receipt that the query or the form names. Raises NotFound, and InvalidRequest if
    none is named.
    """
    text_id = _typed_message_id(request)
    if not text_id:
        raise invalid_field("receipt", "must be a receipt of the list")
    name, ref_or_row_id = unmatched.parse_id(text_id)
    carrier_id = unmatched.carrier_of(tx, ref_or_row_id) if name is None else None
    for carrier in carrier_names(tx).by_id.values():
        if carrier.name == name or carrier.id == carrier_id:
            found = unmatched.receipt_at(tx, carrier.id, ref_or_row_id, has_row=name is None)
            if found is not None:
                [line] = _lines(tx, [found], carrier.name)
                return ChosenReceipt(carrier, line)
    raise unmatched.receipt_not_found(text_id)
