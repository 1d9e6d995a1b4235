"""Sends a campaign's text once, to a number that is typed, as `campaign test` does."""

from typing import Any, Final

from starlette.responses import Response

from heliograph import campaigns
from heliograph.base import ids
from heliograph.base.errors import Conflict, ServiceError
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.campaigns import previews
from heliograph.messages.accept import read_send_request
from heliograph.portal import send
from heliograph.portal.campaign_pages.campaigns import of_account, render_campaign
from heliograph.portal.form_idempotency import CHANGED, conflict_in_words, send_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.portal.visit import Visit, visit_of
from heliograph.text import parse_phone
from heliograph.users import Right

PATH: Final = "POST /portal/campaigns"  # of keys, with the campaign: those of programs have others


def send_test(request: PageRequest) -> Response:
    """Sends the text as the typed number would get it, or else as the first of the audience would,
    and leads to what became of it. What is refused stands on the campaign's page.
    """
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.SEND)
    try:
        message_id = _send(request, visit)
    except ServiceError as refusal:
        return render_campaign(request, visit, refusal)
    return redirect(f"{visit.home}/messages/{message_id}", DoneNotice.ON_ITS_WAY)


def _send(request: PageRequest, visit: Visit) -> str:
    """Sends the test that the form asks for. Raises what POST /sms/send refuses, and NotFound,
    NoRecipients and InvalidRequest.
    """
    typed = request.sent.form.get("to", "").strip()
    phone = parse_phone(typed, None, visit.account.country_code)
    with request.db.read() as tx:
        campaign = of_account(tx, request.path["campaign"], visit)
        if phone is None:
            raise invalid_field(
                "to", f"must be a phone number such as 233201234567, not {quote_value(typed)}"
            )
        text = previews.sample(tx, campaign, int(phone.digits))
    body: dict[str, Any] = {
        "sender": campaign.sender,
        "message": text,
        "recipients": [phone.digits],
        "validity_s": campaign.validity_s,
        "reference": campaigns.text_id(campaign),
    }
    number = ids.new_number(request.now_ms)
    send_request = read_send_request(body, number, visit.account.id, sandbox=campaign.sandbox)
    send_request.passes_opt_outs = True  # as the command `campaign test`
    send_once(request, send_request, f"{PATH}/{campaigns.text_id(campaign)}/test")
    try:
        return str(send.accept(request, send_request)["message_id"])
    except Conflict as error:
        raise conflict_in_words(error, CHANGED) from error
