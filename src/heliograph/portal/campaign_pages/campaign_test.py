"""Sends a campaign's text once, to a number that is typed, as `campaign test` does."""

from typing import Any, Final

from starlette.responses import Response

from heliograph import campaigns
from heliograph.base import ids
from heliograph.base.errors import Conflict, ServiceError
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import refused
from heliograph.messages.accept import read_send
from heliograph.portal import send
from heliograph.portal.campaign_pages.campaigns import of_account, show
from heliograph.portal.once import CHANGED, changed_since, send_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.portal.visit import Visit, visit_of
from heliograph.text import parse_phone
from heliograph.users import Right

PATH: Final = "POST /portal/campaigns"  # of keys, with the campaign: those of programs have others


def send_test(asking: PageRequest) -> Response:
    """Sends the text as the typed number would get it, or else as the first of the audience would,
    and leads to what became of it. What is refused stands on the campaign's page.
    """
    with asking.db.read() as tx:
        visit = visit_of(tx, asking)
        visit.require(tx, Right.SEND)
    try:
        message_id = _sent(asking, visit)
    except ServiceError as refusal:
        return show(asking, visit, refusal)
    return redirect(f"{visit.home}/messages/{message_id}", DoneNotice.ON_ITS_WAY)


def _sent(asking: PageRequest, visit: Visit) -> str:
    """Raises what POST /sms/send refuses, and NotFound, NoRecipients and InvalidRequest."""
    typed = asking.sent.form.get("to", "").strip()
    phone = parse_phone(typed, None, visit.account.country_code)
    with asking.db.read() as tx:
        campaign = of_account(tx, asking.path["campaign"], visit)
        if phone is None:
            raise refused(
                "to", f"must be a phone number such as 233201234567, not {quote_value(typed)}"
            )
        text = campaigns.sample(tx, campaign, int(phone.digits))
    body: dict[str, Any] = {
        "sender": campaign.sender,
        "message": text,
        "recipients": [phone.digits],
        "validity_s": campaign.validity_s,
        "reference": campaigns.text_id(campaign),
    }
    number = ids.new_number(asking.now_ms)
    request = read_send(body, number, visit.account.id, sandbox=campaign.sandbox)
    request.passes_opt_outs = True  # as the command `campaign test`
    send_once(asking, request, f"{PATH}/{campaigns.text_id(campaign)}/test")
    try:
        return str(send.accepted(asking, request)["message_id"])
    except Conflict as error:
        raise changed_since(error, CHANGED) from error
