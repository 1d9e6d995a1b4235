"""Shows what is queued of an account, and cancels it, as the command does."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
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
from heliograph.users import LoggedChange

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
    Each of them says in one entry of both logs how many were canceled so far. Raises NotFound.
    """
    with request.db.read() as tx:
        account = accounts.with_text_id(tx, request.path["account"])
    try:
        reason = reason_of(request)
    except InvalidRequest as refused:
        with request.db.read() as tx:
            return show_list(tx, request, visit, refused.fields)
    decision = _QueueCancellation(request, visit, account, reason)
    so_far = request.db.transact(decision.cancel_first)
    newest = so_far.messages
    while newest and so_far.messages < CANCELED_MAX:
        done = request.db.transact(partial(decision.cancel_more, so_far=so_far))
        newest = done.messages - so_far.messages
        so_far = done
    notice = DoneNotice.SAVED if so_far.messages else DoneNotice.DONE_ALREADY
    return redirect(request.url_path, notice)


class _Canceled(NamedTuple):
    """Says how much was canceled so far, and which entries of the logs say so; None before the
    first message.
    """

    messages: int = 0
    credits: int = 0
    logged: LoggedChange | None = None

    @property
    def in_words(self) -> dict[str, str]:
        """Returns what the logs hold: what was before, what is after, and what the account is
        told.
        """
        credits = credits_in_words(self.credits)
        messages = f"{self.messages} queued {'message' if self.messages == 1 else 'messages'}"
        return {
            "before": f"{self.messages} queued",
            "after": f"failed: canceled, {credits}",
            "told": f"{messages} canceled, {credits}",
        }


class _QueueCancellation(NamedTuple):
    """Holds what an operator has decided: to cancel what is queued of an account."""

    request: PageRequest
    visit: OperatorVisit
    account: Account
    reason: str

    def cancel_first(self, tx: Connection) -> _Canceled:
        """Cancels as many messages as one transaction may, unless this form was sent before."""
        canceled: list[_Canceled] = []

        def effect(tx: Connection) -> ApiResponse:
            canceled.append(self.cancel_more(tx, _Canceled()))
            return ApiResponse({})

        run_user_form_once(tx, self.request, self.visit.session.user.id, effect)
        return canceled[0] if canceled else _Canceled()

    def cancel_more(self, tx: Connection, so_far: _Canceled) -> _Canceled:
        """Cancels as many messages as one transaction may, and returns all that is canceled then.
        The logs say so in the same transaction, so they are right if it is the last.
        """
        now_ms = self.request.now_ms
        done = run_in(tx, lambda hot: fail_queued_within(hot, self.account.id, now_ms))
        if not done.messages:
            return so_far
        total = _Canceled(
            so_far.messages + done.messages, so_far.credits + done.credits, so_far.logged
        )
        if total.logged is not None:
            users.log_progress(tx, total.logged, **total.in_words)
            return total
        logged = self.visit.audit(
            tx, self.account.id, "message.cancel", reason=self.reason, **total.in_words
        )
        return total._replace(logged=logged)
