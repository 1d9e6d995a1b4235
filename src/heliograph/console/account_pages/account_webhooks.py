"""Shows the webhook endpoints of an account, and disables, enables and removes one, as the commands
do. No secret is shown, no query of a URL, and no answer of a receiver.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import quote_value
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.webhooks import backlogs, endpoints, history
from heliograph.webhooks.backlogs import WAITING_COUNTED_MAX
from heliograph.webhooks.endpoints import ENDPOINTS_PER_ACCOUNT_MAX, WebhookEndpoint
from heliograph.webhooks.states import DISABLED, ENABLED, FAILING, GONE, OPERATOR
from heliograph.webhooks.tables import KINDS

CHANGES: Final = ("disable", "enable", "remove")
ATTEMPTS_SHOWN: Final = 5  # of one endpoint, which fail alike
WHY_DISABLED: Final = {
    OPERATOR: "by hand",
    GONE: "it answered 410 Gone",
    FAILING: "it met nothing but failures for 5 days",
}


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the endpoints of both modes, the oldest first. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    found = endpoints.all_endpoints(tx, account.id, limit=2 * ENDPOINTS_PER_ACCOUNT_MAX)
    waiting = backlogs.waiting(tx, [endpoint.id for endpoint in found])
    return page(
        "account_webhooks.html",
        request,
        visit,
        account=account,
        text_id=accounts.text_id(account),
        endpoints=[
            (endpoints.text_id(endpoint.id), endpoint, waiting[endpoint.id]) for endpoint in found
        ],
        counted_max=WAITING_COUNTED_MAX,
        why_disabled=WHY_DISABLED,
        kinds_total=len(KINDS),
    )


def show_endpoint(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows one endpoint, what its last attempts met, and the forms of what can be done with it
    now. Raises NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    endpoint = _of_account(tx, request, account)
    return page(
        "account_webhook.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        endpoint=endpoint,
        endpoint_id=endpoints.text_id(endpoint.id),
        waiting=backlogs.waiting(tx, [endpoint.id])[endpoint.id],
        counted_max=WAITING_COUNTED_MAX,
        why_disabled=WHY_DISABLED,
        kinds_total=len(KINDS),
        attempts=history.attempts(tx, endpoint, limit=ATTEMPTS_SHOWN),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Disables, enables or removes an endpoint. One that is gone was removed already. Raises
    NotFound, AccountClosed, InvalidRequest.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    account = accounts.lock(tx, found.id)
    list_path = f"{ACCOUNTS}/{accounts.text_id(account)}/webhooks"
    try:
        before = _of_account(tx, request, account, is_locked=True)
    except NotFound:
        if wanted == "remove":
            return redirect(list_path, DoneNotice.REMOVED_ALREADY)
        raise
    text_id, after = endpoints.text_id(before.id), None
    if wanted == "disable":
        after = endpoints.disable(tx, text_id, now_ms=request.now_ms)
    elif wanted == "enable":
        after = endpoints.enable(tx, text_id)
    else:
        endpoints.remove(tx, text_id, now_ms=request.now_ms)
    if after == before:
        return redirect(f"{list_path}/{text_id}", DoneNotice.DONE_ALREADY)
    visit.audit(
        tx,
        account.id,
        f"webhook.{wanted}",
        text_id,
        before=f"{_in_words(before)}, {before.address}",  # its id says nothing when it is gone
        after=None if after is None else _in_words(after),
        reason=reason,
    )
    if after is None:
        return redirect(list_path, DoneNotice.REMOVED)
    return redirect(f"{list_path}/{text_id}", DoneNotice.SAVED)


def _of_account(
    tx: Connection, request: PageRequest, account: Account, *, is_locked: bool = False
) -> WebhookEndpoint:
    """Returns the endpoint that the path names. Raises NotFound for one of another account, too."""
    named = request.path["endpoint"]
    endpoint = endpoints.endpoint_of(tx, named, is_locked=is_locked)
    if endpoint.account_id != account.id:
        raise NotFound(f"There is no webhook endpoint {quote_value(named)}.")
    return endpoint


def _in_words(endpoint: WebhookEndpoint) -> str:
    """Returns the state as the log holds it."""
    if endpoint.disabled_reason is not None:
        return f"{DISABLED}: {WHY_DISABLED[endpoint.disabled_reason]}"
    return ENABLED if endpoint.failing_since_ms is None else f"{ENABLED}: it fails"
