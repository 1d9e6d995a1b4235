"""Shows the webhook endpoints of an account: a list, a form that adds one, and one endpoint with
its events, its secret and what may be done with it.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.base.clock import DAY_MS, HOUR_MS, MINUTE_MS, rfc3339
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import REQUIRED, Query, quote_value
from heliograph.base.paging import read_span
from heliograph.base.short_texts import invalid_field
from heliograph.database.secret_key_canary import keys_in_use
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import random_of, record_of, run_path_form_once
from heliograph.portal.languages import marked
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, RemovedAlready, page, redirect
from heliograph.portal.span_fields import FIELDS as SPAN_FIELDS
from heliograph.portal.span_fields import as_api_query, as_form_fields
from heliograph.portal.visit import MODES, Visit, visit_of
from heliograph.requests import ApiResponse
from heliograph.users import Right
from heliograph.webhooks import endpoints, history, replay
from heliograph.webhooks.endpoints import ENDPOINTS_PER_ACCOUNT_MAX, WebhookEndpoint
from heliograph.webhooks.http.address_guard import check_url
from heliograph.webhooks.replay import REPLAYED_AT_ONCE
from heliograph.webhooks.sample_event import send_sample
from heliograph.webhooks.tables import KINDS

SAMPLE_PURPOSE: Final = "sample event"
ID_OCTETS: Final = 16
EVENTS_SHOWN: Final = 50
ATTEMPTS_SHOWN: Final = 50
EVENT_FIELD: Final = "hears "  # before the name of each kind of event, in a form
TELLS: Final = {
    "message.sent": marked("a carrier accepted a message"),
    "message.delivered": marked("a message arrived"),
    "message.failed": marked("a message did not arrive"),
    "contact.opted_out": marked("somebody has opted out"),
    "contact.opted_in": marked("somebody has opted in again"),
    "message.received": marked("somebody wrote to one of your numbers"),
    "campaign.completed": marked("a campaign has come to its end"),
    "wallet.low_balance": marked("credits or money fell below the threshold"),
}
FIELDS: Final = ("url", "mode", "events")


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the account's endpoints of both modes, the oldest first."""
    found = endpoints.all_endpoints(tx, visit.account.id, limit=2 * ENDPOINTS_PER_ACCOUNT_MAX)
    return page(
        "webhooks.html",
        request,
        visit=visit,
        endpoints=[_record(endpoint, visit) for endpoint in found],
        kinds=len(KINDS),
        may_add=visit.may(Right.WEBHOOKS),
    )


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that adds an endpoint."""
    visit.require(tx, Right.WEBHOOKS)
    visit.require_fresh(request.now_ms)
    return page(
        "webhook_new.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        typed={"mode": visit.mode, **request.sent.form},
        errors={error.field: error.message for error in errors},
        is_good=False,
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        events=[(kind, f"{EVENT_FIELD}{kind}", TELLS[kind]) for kind in KINDS],
    )


def add(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Adds an endpoint, and shows its secret."""
    visit.require_fresh(request.now_ms)
    body = body_of(request)
    mode = choice_of("mode", body.get("mode", visit.mode), MODES)

    def effect(tx: Connection) -> ApiResponse:
        endpoint, _ = endpoints.add(
            tx,
            visit.account.id,
            body.get("url", ""),
            [kind for kind in KINDS if f"{EVENT_FIELD}{kind}" in body],
            sandbox=mode == "sandbox",
            include_customers="include_customers" in body,
            secret_key=keys_in_use(tx, request.service.secret_keys),
            allow=request.service.webhook_networks,
            now_ms=request.now_ms,
        )
        added = endpoints.text_id(endpoint.id)
        visit.audit(tx, request, "webhook.add", added, mode)
        return ApiResponse({"id": added})

    added = record_of(run_path_form_once(tx, request, visit, effect))["id"]
    return _secret(tx, request, visit, endpoints.endpoint_of(tx, added))


def check_address(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the part of the form that says whether the address typed so far can be added. Raises
    InvalidRequest.
    """
    url = body_of(request).get("url", "")
    if url:
        check_url(url, request.service.webhook_networks)
    return page("webhook_judged.html", request, visit=visit, errors={}, is_good=bool(url))


def show_address_errors(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError]
) -> Response:
    """Returns that part with what is wrong."""
    wrong = {error.field: error.message for error in errors}
    return page("webhook_judged.html", request, visit=visit, errors=wrong, is_good=False)


def show_endpoint(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows an endpoint, its newest events, and the attempts to deliver them."""
    endpoint = _of_account(tx, request, visit)
    failed = dict(request.sent.query).get("show") == "failed"
    is_span = request.sent.form.get("do") == "replay_since"
    return page(
        "webhook.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        endpoint=_record(endpoint, visit),
        is_rotating=(endpoint.former_until_ms or 0) > request.now_ms,
        events=history.events(tx, endpoint, limit=EVENTS_SHOWN, failed=failed),
        attempts=history.attempts(tx, endpoint, limit=ATTEMPTS_SHOWN),
        only_failed=failed,
        typed=as_form_fields(
            request.sent.form if is_span else _default_replay_span(endpoint, request.now_ms), visit
        ),
        most=REPLAYED_AT_ONCE,
        may_change=visit.may(Right.WEBHOOKS),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in SPAN_FIELDS],
    )


def show_event(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows what was sent of an event, and what each attempt was answered."""
    endpoint, event_id = _of_account(tx, request, visit), request.path["event"]
    return page(
        "webhook_event.html",
        request,
        visit=visit,
        endpoint=_record(endpoint, visit),
        event_request=history.request(tx, endpoint, event_id),
        event_id=event_id,
        attempts=history.attempts(tx, endpoint, limit=ATTEMPTS_SHOWN, event_id=event_id),
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Does what a button of an endpoint's page asks for. Raises NotFound, RemovedAlready, and
    InvalidRequest.
    """
    form = request.sent.form
    try:
        endpoint = _of_account(tx, request, visit)
    except NotFound as gone:
        if form.get("do") != "remove":
            raise
        raise RemovedAlready(list_path=f"{visit.home}/webhooks") from gone
    text_id, now_ms = endpoints.text_id(endpoint.id), request.now_ms
    after: list[WebhookEndpoint] = []  # what it is then, where that may be the same as before
    notice = DoneNotice.SAVED
    match form.get("do"):
        case "enable":
            after.append(endpoints.enable(tx, text_id))
        case "disable":
            after.append(endpoints.disable(tx, text_id, now_ms=now_ms))
        case "finish":  # the former secret signs no more
            visit.require_fresh(request.now_ms)
            after.append(endpoints.finish_rotation(tx, text_id))
        case "replay":
            replay.replay_one(tx, endpoint, form.get("event", ""), now_ms=now_ms)
            notice = DoneNotice.ON_ITS_WAY
        case "replay_since":
            notice = _replay_span(tx, request, visit, endpoint)
            if notice is DoneNotice.NOTHING_MISSED:
                after.append(endpoint)
        case "remove":
            endpoints.remove(tx, text_id, now_ms=now_ms)
        case unknown:
            raise invalid_field(
                "do", f"must be one of the buttons of this page, not {quote_value(unknown or '')}"
            )
    if endpoint not in after:
        visit.audit(tx, request, f"webhook.{form['do']}", text_id)
    if form["do"] == "remove":
        return redirect(f"{visit.home}/webhooks", DoneNotice.REMOVED)
    return redirect(f"{visit.home}/webhooks/{text_id}", notice)


def reveal(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the secret of an endpoint; with the button for it, a new one is made first."""
    visit.require_fresh(request.now_ms)
    endpoint = _of_account(tx, request, visit)
    text_id = endpoints.text_id(endpoint.id)
    is_new = request.sent.form.get("do") == "rotate"

    def effect(tx: Connection) -> ApiResponse:
        visit.audit(tx, request, "webhook.rotate" if is_new else "webhook.show_secret", text_id)
        if is_new:
            keys = keys_in_use(tx, request.service.secret_keys)
            endpoints.rotate(tx, text_id, keys, now_ms=request.now_ms)
        return ApiResponse({})

    run_path_form_once(tx, request, visit, effect)
    return _secret(tx, request, visit, _of_account(tx, request, visit))


def send_test(request: PageRequest) -> Response:
    """Sends a signed sample, in no transaction, and shows what was answered. If the form is sent
    twice the receiver gets one event twice, as it may get any event.
    """
    with request.db.write() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.WEBHOOKS)
        endpoint = _of_account(tx, request, visit)
        keys = keys_in_use(tx, request.service.secret_keys)
        secrets = endpoints.secrets_of(tx, endpoint.id, keys, request.now_ms)
    result = asyncio.run(
        send_sample(
            endpoint,
            accounts.text_id(visit.account),
            secrets,
            request.service.webhook_networks,
            request.now_ms,
            random_of(request, visit, SAMPLE_PURPOSE)[:ID_OCTETS].hex(),
        )
    )
    return page(
        "webhook_tested.html",
        request,
        visit=visit,
        endpoint=_record(endpoint, visit),
        result=result,
    )


def _secret(
    tx: Connection, request: PageRequest, visit: Visit, endpoint: WebhookEndpoint
) -> Response:
    keys = keys_in_use(tx, request.service.secret_keys)
    secret, _ = endpoints.secrets_of(tx, endpoint.id, keys, request.now_ms)
    return page(
        "webhook_secret.html",
        request,
        visit=visit,
        endpoint=_record(endpoint, visit),
        secret=secret,
    )


def _of_account(tx: Connection, request: PageRequest, visit: Visit) -> WebhookEndpoint:
    """Returns the endpoint that the path names. Raises NotFound for one of another account, too."""
    endpoint = endpoints.endpoint_of(tx, request.path["endpoint"])
    if endpoint.account_id != visit.account.id:
        raise NotFound(f"There is no webhook endpoint {quote_value(request.path['endpoint'])}.")
    return endpoint


def _replay_span(
    tx: Connection, request: PageRequest, visit: Visit, endpoint: WebhookEndpoint
) -> DoneNotice:
    """Delivers again what was not delivered in the span of the form, and returns what to say."""
    sent = [(name, request.sent.form.get(name, "")) for name in SPAN_FIELDS]
    query = Query(as_api_query(sent, visit))
    span = read_span(query)
    query.finish()
    if span.since_ms is None:
        raise invalid_field("since", REQUIRED)
    count = replay.replay_span(tx, endpoint, span.since_ms, span.until_ms, now_ms=request.now_ms)
    if count == REPLAYED_AT_ONCE:
        return DoneNotice.FIRST_ON_THEIR_WAY
    return DoneNotice.ON_ITS_WAY if count else DoneNotice.NOTHING_MISSED


def _default_replay_span(endpoint: WebhookEndpoint, now_ms: int) -> dict[str, str]:
    """Returns the span that is offered first: the last day, or more if all has failed for longer.
    What failed first was made before that.
    """
    day_ago_ms = now_ms - DAY_MS
    first_ms = min(day_ago_ms, (endpoint.failing_since_ms or now_ms) - HOUR_MS)
    return {"since": rfc3339(first_ms // MINUTE_MS * MINUTE_MS)}  # without seconds to type


def _record(endpoint: WebhookEndpoint, visit: Visit) -> dict[str, Any]:
    return endpoints.as_record(endpoint, accounts.text_id(visit.account))
