"""Adds and removes recipients of alerts, and sends them tests, as the commands do."""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import alerts
from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.short_texts import REASON_MAX, shorten
from heliograph.console.navigation import ALERTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.database.secret_key_canary import keys_in_use
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import record_of, run_user_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.requests import ApiResponse

CHANGES: Final = ("test", "remove")


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Adds an address. The secret of a webhook is shown, also to somebody who sends this form
    twice. Raises InvalidRequest, and NotFound if the recipient was removed since.
    """
    keys = keys_in_use(tx, request.service.secret_keys)

    def effect(tx: Connection) -> ApiResponse:
        recipient, _ = alerts.add_recipient(
            tx,
            body_of(request).get("address", ""),
            secret_key=keys,
            allow=request.service.webhook_networks,
            now_ms=request.now_ms,
        )
        after = shorten(recipient.address, REASON_MAX)
        visit.audit(tx, None, "alert.add", recipient.text_id, after=after)
        return ApiResponse({"id": recipient.text_id})

    added = record_of(run_user_form_once(tx, request, visit.session.user.id, effect))["id"]
    recipient = alerts.recipient_of(tx, added)
    secret = alerts.secret_of(tx, recipient.id, keys)
    if secret is None:
        return redirect(ALERTS, DoneNotice.SAVED)
    return page("alert_secret.html", request, visit, recipient=recipient, secret=secret)


def ask_removal(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Asks whether a recipient is to be removed. One that is gone was removed already. Raises
    NotFound for what is no id.
    """
    text_id = _id_of(request)
    try:
        recipient = alerts.recipient_of(tx, text_id)
    except NotFound:
        return redirect(ALERTS, DoneNotice.REMOVED_ALREADY)
    return page("alert_removal.html", request, visit, recipient=recipient)


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sends a test, or removes a recipient. One that is gone was removed already. Raises NotFound,
    InvalidRequest.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    text_id = _id_of(request)
    if wanted == "remove":
        try:
            gone = alerts.remove_recipient(tx, text_id)
        except NotFound:
            return redirect(ALERTS, DoneNotice.REMOVED_ALREADY)
        visit.audit(tx, None, "alert.remove", text_id, before=shorten(gone.address, REASON_MAX))
        return redirect(ALERTS, DoneNotice.REMOVED)
    recipient = alerts.recipient_of(tx, text_id)
    alerts.queue_notification(tx, recipient, alerts.TEST, None, request.now_ms)
    visit.audit(tx, None, "alert.test", text_id, after=shorten(recipient.address, REASON_MAX))
    return redirect(ALERTS, DoneNotice.ON_ITS_WAY)


def _id_of(request: PageRequest) -> str:
    """Returns the id of the recipient that the path names. Raises NotFound for what is no id."""
    text_id = request.path["recipient"]
    if ids.raw_of_text(alerts.RECIPIENT_PREFIX, text_id) is None:
        raise NotFound("No recipient of alerts has this id.")
    return text_id
