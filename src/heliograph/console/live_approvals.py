"""Shows an account that has signed up and waits to go live, and lets it."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.base.errors import FieldError
from heliograph.console.account_history import history_of
from heliograph.console.navigation import APPROVALS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import members


def show_account(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the account, its members, and the form that lets it go live. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    return page(
        "live_approval.html",
        request,
        visit,
        status=400 if errors else 200,
        past=history_of(tx, account, request.now_ms),
        members=members.of_account(tx, account.id),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def let_live(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Lets an account go live, as the command does. Raises NotFound, InvalidRequest."""
    reason = reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    before = accounts.lock(tx, found.id)  # nobody else changes it between the two
    after = accounts.go_live(tx, before.id)
    if after.sandbox != before.sandbox:
        visit.audit(
            tx,
            before.id,
            "account.go_live",
            accounts.text_id(before),
            before="sandbox only",
            after="live",
            reason=reason,
        )
    return redirect(APPROVALS, DoneNotice.SAVED)
