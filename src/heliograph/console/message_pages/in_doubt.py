"""Lists the messages that are in doubt with a carrier, oldest first, and settles them or sends them
again, many at once. What that will do is shown before.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.console.message_pages.carrier_choice import (
    WorkOfCarrier,
    carrier_names,
    chosen_carrier,
    work_by_carrier,
)
from heliograph.console.message_pages.credit_words import credits_in_words
from heliograph.console.message_pages.found_messages import ListedMessage, listed_messages
from heliograph.console.navigation import IN_DOUBT
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.messages.doubt import audited_decisions, trace, work_lists
from heliograph.messages.doubt.decide import Decision, DecisionResult, read_decided_by
from heliograph.messages.read import MESSAGE_PREFIX
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.portal.filled_form import choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

SHOWN_MAX: Final = audited_decisions.AT_ONCE_MAX
CHOICES: Final = (
    Decision.SENT,
    Decision.DELIVERED,
    Decision.UNDELIVERABLE,
    Decision.CANCELED,
    Decision.RESENT,
)


class DecidedMessage(NamedTuple):
    """Holds a message, and what a decision makes of it."""

    message: ListedMessage
    result: DecisionResult


class _DecisionForm(NamedTuple):
    """Says which messages are decided about, and how."""

    carrier: WorkOfCarrier
    found: list[trace.TracedMessage]
    decision: Decision


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the messages that are in doubt with the carrier that is asked for."""
    query = Query(request.sent.query)
    wanted = read_page(query, most=SHOWN_MAX)
    asked = query.text("carrier") or request.sent.form.get("carrier")
    query.finish()
    names = carrier_names(tx)
    work = work_by_carrier(tx, names)
    carrier = chosen_carrier(work, asked, "in_doubt")
    wanted = with_one_more_row(wanted._replace(limit=SHOWN_MAX))
    found = (
        work_lists.oldest_in_doubt(tx, carrier.id, wanted.before, wanted.limit) if carrier else []
    )
    displayed = list_page(
        request, wanted._replace(limit=SHOWN_MAX), found, lambda traced: traced.message.id
    )
    return page(
        "in_doubt.html",
        request,
        visit,
        status=400 if errors else 200,
        work=work,
        carrier=carrier,
        messages=listed_messages(tx, displayed.rows, names),
        later=displayed.older,
        resends=carrier is not None and carrier.id in names.resending,
        resend_after_s=RESEND_AFTER_MS // 1_000,
        choices=CHOICES,
        counted_max=work_lists.COUNTED_MAX,
        typed=request.sent.form,
        errors={error.field: error.message for error in errors},
    )


def preview_decision(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows what a decision would do to the chosen messages, and asks for the reason. It is tried
    out and taken back. Raises InvalidRequest and NotFound.
    """
    return _render_preview(tx, request, visit, _read_form(tx, request))


def decide(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Decides about the chosen messages, and stores who did it. What cannot be decided so stays as
    it was, and is shown. Raises InvalidRequest and NotFound.
    """
    form = _read_form(tx, request)
    try:
        reason = reason_of(request)
    except InvalidRequest as missing:
        return _render_preview(tx, request, visit, form, missing.fields)
    results = _settle(tx, request, visit, form, reason)
    owners = {each.message.id: each.account_id for each in form.found}
    is_resent = form.decision is Decision.RESENT
    for result in results:
        if result.refused is None:
            visit.audit(
                tx,
                owners[result.message_id],
                "message.resend" if is_resent else "message.settle",
                ids.text_of_raw(MESSAGE_PREFIX, result.message_id),
                before="in doubt",
                after="queued again" if is_resent else _after(result),
                reason=reason,
            )
    refused_results = [result for result in results if result.refused is not None]
    if refused_results:
        return _results(
            tx, request, visit, form, refused_results, is_done=len(results) - len(refused_results)
        )
    return redirect(f"{IN_DOUBT}?carrier={form.carrier.id}", DoneNotice.SAVED)


def _after(result: DecisionResult) -> str:
    status = result.status if result.error_code is None else f"failed: {result.error_code}"
    return f"{status}, {credits_in_words(result.credits_refunded)}"


def _read_form(tx: Connection, request: PageRequest) -> _DecisionForm:
    form = request.sent.form
    decision = Decision(choice_of("do", form.get("do", ""), [each.value for each in CHOICES]))
    work = work_by_carrier(tx, carrier_names(tx))
    carrier = chosen_carrier(work, form.get("carrier", ""), "in_doubt")
    assert carrier is not None  # a number was asked for
    named = [name for name in form if name.startswith(f"{MESSAGE_PREFIX}_")]
    if not 1 <= len(named) <= audited_decisions.AT_ONCE_MAX:
        raise invalid_field(
            "messages",
            f"must be 1 to {audited_decisions.AT_ONCE_MAX} of the list, not {len(named)}",
        )
    found = trace.traced_by_ids(tx, list(trace.find_states(tx, named)))
    return _DecisionForm(carrier, found, decision)


def _settle(
    tx: Connection, request: PageRequest, visit: OperatorVisit, wanted: _DecisionForm, reason: str
) -> list[DecisionResult]:
    return audited_decisions.settle(
        tx,
        carrier_names(tx).facts(wanted.carrier.id),
        [each.message.id for each in wanted.found],
        wanted.decision,
        read_decided_by(visit.by, reason),
        request.now_ms,
    )


def _render_preview(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    wanted: _DecisionForm,
    errors: Sequence[FieldError] = (),
) -> Response:
    results = audited_decisions.preview_of(
        tx, lambda: _settle(tx, request, visit, wanted, "tried out")
    )
    return _results(tx, request, visit, wanted, results, errors=errors)


def _results(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    form: _DecisionForm,
    results: Sequence[DecisionResult],
    *,
    errors: Sequence[FieldError] = (),
    is_done: int = 0,
) -> Response:
    lines = listed_messages(tx, form.found, carrier_names(tx))
    by_id = dict(zip([each.message.id for each in form.found], lines, strict=True))
    decided = [DecidedMessage(by_id[result.message_id], result) for result in results]
    changed = [each for each in decided if each.result.refused is None]
    return page(
        "in_doubt_decided.html",
        request,
        visit,
        status=400 if errors else 200,
        carrier=form.carrier,
        decision=form.decision,
        decided=decided,
        changed=changed,
        refunded=sum(each.result.credits_refunded for each in changed),
        is_done=is_done,
        typed=request.sent.form,
        errors={error.field: error.message for error in errors},
    )
