"""Shows what is queued of an account, and cancels it, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.console.message_pages.carrier_choice import carrier_names
from heliograph.console.message_pages.credit_words import credits_in_words
from heliograph.console.message_pages.found_messages import listed_messages
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database.hot import run_in
from heliograph.messages.doubt import trace
from heliograph.messages.queue import count_queued, queued_messages
from heliograph.messages.sweeps import credits_back, fail_queued_within
from heliograph.portal.filled_form import body_of
from heliograph.portal.form_idempotency import run_user_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.requests import ApiResponse

QUEUED_SHOWN_MAX: Final = 50
PRICED_MAX: Final = 2_000  # messages whose credits are added up: they are read one by one
# canceled by one form: the largest send, in a second. Each transaction cancels 500 of them.
CANCELED_MAX: Final = 10_000


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows how many messages of an account are queued, the oldest of them, and the form that
    cancels all. Raises NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    count = count_queued(tx, account.id)
    oldest = queued_messages(tx, account.id, limit=PRICED_MAX) if count else []
    displayed = trace.traced_by_ids(tx, oldest[:QUEUED_SHOWN_MAX])
    return page(
        "queued_messages.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        count=count,
        messages=listed_messages(tx, displayed[::-1], carrier_names(tx)),
        credits=credits_back(tx, oldest) if count <= PRICED_MAX else None,
        canceled_max=CANCELED_MAX,
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def cancel(request: PageRequest, visit: OperatorVisit) -> Response:
    """Cancels what is queued of an account, at most CANCELED_MAX messages, in several transactions.
    Each of them tells both logs what it has canceled. Raises NotFound.
    """
    with request.db.read() as tx:
        account = accounts.with_text_id(tx, request.path["account"])
    try:
        reason = reason_of(request)
    except InvalidRequest as refused:
        with request.db.read() as tx:
            return show_list(tx, request, visit, refused.fields)
    some = request.db.transact(lambda tx: _cancel_first(tx, request, visit, account, reason))
    canceled = some
    while some and canceled < CANCELED_MAX:
        some = request.db.transact(lambda tx: _cancel_some(tx, request, visit, account, reason))
        canceled += some
    return redirect(request.url_path, DoneNotice.SAVED if canceled else DoneNotice.DONE_ALREADY)


def _cancel_first(
    tx: Connection, request: PageRequest, visit: OperatorVisit, account: Account, reason: str
) -> int:
    """Does what `_cancel_some` does, unless this form was sent before."""
    canceled: list[int] = []

    def effect(tx: Connection) -> ApiResponse:
        canceled.append(_cancel_some(tx, request, visit, account, reason))
        return ApiResponse({})

    run_user_form_once(tx, request, visit.session.user.id, effect)
    return sum(canceled)


def _cancel_some(
    tx: Connection, request: PageRequest, visit: OperatorVisit, account: Account, reason: str
) -> int:
    """Cancels as many messages as one transaction may, and returns how many."""
    done = run_in(tx, lambda hot: fail_queued_within(hot, account.id, request.now_ms))
    if done.messages:
        visit.audit(
            tx,
            account.id,
            "message.cancel",
            before=f"{done.messages} queued",
            after=f"failed: canceled, {credits_in_words(done.credits)}",
            reason=reason,
        )
    return done.messages
