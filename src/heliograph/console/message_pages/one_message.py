"""Shows one message of any account: where each segment is, what its carrier was given, what it cost
and who was told. Its text is shown to those who may read it, one time, and both logs say so.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.base.errors import DoneAlready, FieldError, Forbidden, InvalidRequest
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import SIMULATOR_ID, Outgoing, describe_submissions
from heliograph.carriers.smpp.describe_submission import DescribedSubmission
from heliograph.console.message_pages.carrier_choice import CarrierNames, carrier_names
from heliograph.console.message_pages.credit_words import credits_in_words
from heliograph.console.navigation import MESSAGES
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.messages import read
from heliograph.messages.changes.events import event_ids
from heliograph.messages.doubt import trace
from heliograph.messages.doubt.decide import Decision
from heliograph.messages.doubt.segments import Segment, segments
from heliograph.messages.doubt.trace import TracedMessage
from heliograph.messages.read.charges import charges_of
from heliograph.messages.sweeps import CancelableMessage, cancel_message, find_queued
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.webhooks import endpoints, history

NO_TEXT: Final = "0"  # in place of a one-time code: what stands beside the text is the same


class SubmissionsShown(NamedTuple):
    """Holds the submissions of a message, field by field, or why there are none."""

    submissions: list[DescribedSubmission]
    why_none: str = ""


def show_message(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a message without its text. Raises NotFound."""
    return _render(tx, request, visit, errors, shows_text=False)


def read_text(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows a message with its text, and stores that this operator has seen it. Raises NotFound,
    and Forbidden for a one-time code.
    """
    traced = trace.trace_message(tx, request.path["message"])
    if traced.message.type == read.OTP:
        raise Forbidden("A one-time code is never shown.")
    visit.audit(
        tx, traced.account_id, "message.read", request.path["message"], after="its text was read"
    )
    return _render(tx, request, visit, shows_text=True)


def cancel(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Cancels a queued message, as the command does. One that was canceled stays so. Raises
    NotFound, and InvalidRequest, also when the page has shown other credits than go back now.
    """
    reason = reason_of(request)
    path = f"{MESSAGES}/{request.path['message']}"
    traced = trace.trace_message(tx, request.path["message"])
    try:
        credits = cancel_message(tx, traced.message.id, request.now_ms)
    except DoneAlready:
        return redirect(path, DoneNotice.DONE_ALREADY)
    if request.sent.form.get("shown") != str(credits):
        raise invalid_field(
            "shown",
            "are not what goes back now: a carrier has taken a part of the message after you had"
            " opened this page. Look at it again, then decide",
        )
    visit.audit(
        tx,
        traced.account_id,
        "message.cancel",
        request.path["message"],
        before="queued",
        after=f"failed: canceled, {credits_in_words(credits)}",
        reason=reason,
    )
    return redirect(path, DoneNotice.SAVED)


def _queued(tx: Connection, traced: TracedMessage) -> CancelableMessage | None:
    """Returns the message if it can be canceled."""
    try:
        return find_queued(tx, traced.message.id)
    except InvalidRequest:
        return None


def _render(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    *,
    shows_text: bool,
) -> Response:
    traced = trace.trace_message(tx, request.path["message"])
    message, account = traced.message, accounts.by_id(tx, traced.account_id)
    names, parts = carrier_names(tx), segments(tx, traced)
    record = read.as_record(message)
    text = record.pop("message")
    return page(
        "traced_message.html",
        request,
        visit,
        status=400 if errors else 200,
        message=record,
        created_at_ms=message.created_at_ms,
        account=account,
        account_id=accounts.text_id(account),
        text=text if shows_text else None,
        has_text=text is not None,
        is_code=message.type == read.OTP,
        failure=trace.failure(message),
        carrier=names.of(traced.carrier_id),
        segments=[(segment, names.of(segment.carrier_id)) for segment in parts],
        doubts=[(doubt, names.of(doubt.carrier_id)) for doubt in traced.doubts],
        doubt_carrier_id=traced.doubts[0].carrier_id if traced.doubts else None,
        decisions=[
            (each, names.of(each.carrier_id), trace.numbers(each.parts))
            for each in trace.decisions(tx, traced)
        ],
        choices=list(Decision)[:-1],
        timeline=read.timeline(message),
        submissions=_submissions(tx, traced, parts, names, shows_text=shows_text),
        numbers=trace.numbers,
        paid=charges_of(tx, message, traced.account_id),
        deliveries=[
            (each, endpoints.text_id(each.endpoint_id))
            for each in history.deliveries_of(tx, traced.account_id, event_ids(message))
        ],
        queued=_queued(tx, traced),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def _submissions(
    tx: Connection,
    traced: TracedMessage,
    parts: Sequence[Segment],
    names: CarrierNames,
    *,
    shows_text: bool,
) -> SubmissionsShown:
    message = traced.message
    carrier_id = next((part.carrier_id for part in parts if part.carrier_id), traced.carrier_id)
    carrier = names.by_id.get(carrier_id)
    if carrier_id == SIMULATOR_ID:
        return SubmissionsShown([], "The simulator takes texts as they are: nothing is encoded.")
    if carrier is None:
        return SubmissionsShown([], "The carrier was removed, and its settings with it.")
    text = NO_TEXT if message.type == read.OTP else message.text
    if text is None or message.recipient is None:
        return SubmissionsShown([], "The text and the number were erased, as retention asks for.")
    begun_ms = min(
        (each.since_ms for each in traced.in_flight),
        default=message.sent_at_ms or message.created_at_ms,
    )
    outgoing = Outgoing(
        message.id,
        message.sender,
        str(message.recipient),
        text=text,
        encoding=message.encoding,
        segments=message.segments,
        validity_s=max(1, (trace.expires_at_ms(tx, traced) - begun_ms) // 1_000),
        priority=int(message.type == read.OTP),
    )
    try:
        found = describe_submissions(carrier, outgoing, shows_text=shows_text)
    except ValueError:
        return SubmissionsShown([], "The text cannot be encoded for this carrier.")
    return SubmissionsShown(found)
