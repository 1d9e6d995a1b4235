"""Shows the campaigns of an account: a list, and one campaign with what it is, what it would cost,
and what became of it. Its buttons launch, schedule, pause, resume and cancel it.
"""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import campaigns
from heliograph.base.errors import (
    Conflict,
    InsufficientCredits,
    InvalidRequest,
    NotFound,
    ServiceError,
)
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.campaigns import Campaign, QuickQuote, previews, states
from heliograph.messages.groups import GroupTally, tallies_of, tally_of
from heliograph.messages.reports import failure_reasons
from heliograph.portal.campaign_pages.campaign_reasons import LEFT_OUT, REASONS
from heliograph.portal.form_idempotency import redirect_once
from heliograph.portal.languages.formats import start_time
from heliograph.portal.list_page import list_page
from heliograph.portal.message_pages.failure_advice import ADVICE
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import Visit, visit_of
from heliograph.users import Right

OVER: Final = (states.COMPLETED, states.CANCELED, states.FAILED)
# by the buttons of a campaign's page
MADE_BY: Final = {"pause": states.PAUSED, "resume": states.SENDING, "cancel": states.CANCELED}
AS_FAR_FIELD: Final = "as_far_as_credits_reach"
_NOTHING_UNFILLED: Final = previews.UnfilledPlaceholders((), 0)


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the campaigns of both modes, newest first."""
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = campaigns.page(
        tx, limit=wanted.limit + 1, account_id=visit.account.id, before_id=wanted.before
    )
    on_page = list_page(request, wanted, found, lambda campaign: campaign.id)
    tallies = tallies_of(tx, [campaign.group_id for campaign in on_page.rows])
    return page(
        "campaigns.html",
        request,
        visit=visit,
        campaigns=[
            (campaigns.text_id(campaign), campaign, tallies.get(campaign.group_id, GroupTally()))
            for campaign in on_page.rows
        ],
        older=on_page.older,
        may_change=visit.may(Right.CAMPAIGNS),
    )


def show_campaign(request: PageRequest, visit: Visit) -> Response:
    """Shows one campaign. What it would cost is found out in transactions of its own."""
    return render_campaign(request, visit)


def show_launch(request: PageRequest, visit: Visit) -> Response:
    """Shows what a launch would send and take, and the button for it. The price of a large audience
    is estimated, and a button asks for the exact one.
    """
    return _render_launch(request, visit)


def price_launch(request: PageRequest) -> Response:
    """Asks the same as `show_launch`, with the exact price, which takes longer."""
    with request.db.read() as tx:
        visit = _require(tx, request)
    return _render_launch(request, visit, may_take_longer=True)


def launch(request: PageRequest) -> Response:
    """Prices a campaign and lets the running service launch it."""
    with request.db.read() as tx:
        visit = _require(tx, request)
        campaign = of_account(tx, request.path["campaign"], visit)
    try:
        quick = campaigns.quick_quote(request.db, campaign, may_take_longer=True)
        with request.db.write() as tx:
            _require(tx, request)
            is_started = campaigns.start_soon(
                tx,
                campaign.id,
                quick.shown,
                is_sample=quick.estimated_from is not None,
                as_far_as_credits_reach=AS_FAR_FIELD in request.sent.form or None,
                now_ms=request.now_ms,
            )
            if is_started:
                about = campaigns.text_id(campaign)
                visit.audit(tx, request, "campaign.launch", about, campaign.name)
    except (Conflict, InvalidRequest, InsufficientCredits) as refusal:
        with request.db.read() as tx:
            campaign = of_account(tx, request.path["campaign"], visit)
        if not _is_done(campaign, "launch"):
            return _render_launch(request, visit, refusal, may_take_longer=True)
        is_started = False
    return _redirect_to(visit, campaign, None if is_started else DoneNotice.DONE_ALREADY)


def change(request: PageRequest) -> Response:
    """Does what a button of the campaign's page asks for. What is refused stands on that page."""
    try:
        with request.db.write() as tx:
            visit = _require(tx, request)
            return redirect_once(_change)(tx, request, visit)
    except (Conflict, InvalidRequest) as refusal:
        return render_campaign(request, visit, refusal)


def _change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Does to a campaign what the form asks for, and leads back to its page. Raises Conflict and
    InvalidRequest.
    """
    campaign = of_account(tx, request.path["campaign"], visit)
    try:
        _move(tx, request, visit, campaign)
    except states.WrongState:
        if not _is_done(of_account(tx, request.path["campaign"], visit), request.sent.form["do"]):
            raise
        return _redirect_to(visit, campaign, DoneNotice.DONE_ALREADY)
    action = f"campaign.{request.sent.form['do']}"
    visit.audit(tx, request, action, campaigns.text_id(campaign), campaign.name)
    return _redirect_to(visit, campaign)


def _move(tx: Connection, request: PageRequest, visit: Visit, campaign: Campaign) -> None:
    """Changes a campaign's state as the form asks. Raises Conflict and InvalidRequest."""
    match request.sent.form.get("do"):
        case "pause":
            campaigns.pause(tx, campaign.id)
        case "resume":
            campaigns.resume(tx, campaign.id)
        case "cancel":
            campaigns.cancel(tx, campaign.id, now_ms=request.now_ms)
        case "schedule":
            at = request.sent.form.get("at", "").strip()
            when = campaigns.read_start_time(at, visit.account.time_zone, request.now_ms)
            campaigns.schedule(
                tx,
                campaign.id,
                when.at_ms,
                as_far_as_credits_reach=AS_FAR_FIELD in request.sent.form,
            )
        case unknown:
            raise invalid_field(
                "do", f"must be one of the buttons of this page, not {quote_value(unknown or '')}"
            )


def _is_done(campaign: Campaign, button: str) -> bool:
    """Returns whether a campaign is already what a button would make of it. Somebody else, or
    another tab, was faster then.
    """
    if button == "launch":
        has_begun = campaign.started_at_ms is not None
        return has_begun and campaign.status not in (states.CANCELED, states.FAILED)
    return campaign.status == MADE_BY.get(button)


def _require(tx: Connection, request: PageRequest) -> Visit:
    """Returns the visit of somebody who may change campaigns. Raises Forbidden."""
    visit = visit_of(tx, request)
    visit.require(tx, Right.CAMPAIGNS)
    return visit


def render_campaign(
    request: PageRequest, visit: Visit, refusal: ServiceError | None = None
) -> Response:
    """Shows one campaign, with what was refused. It opens transactions, so none may be open."""
    with request.db.read() as tx:
        campaign = of_account(tx, request.path["campaign"], visit)
        is_starting = _is_starting(campaign, request.now_ms)
        is_open = campaign.status in states.STARTABLE and not is_starting
        tally = tally_of(tx, campaign.group_id)
        values: dict[str, Any] = {
            "record": campaigns.as_record(campaign, tally),
            "samples": previews.samples(tx, campaign) if is_open else [],
            "failures": failure_reasons.failures_of(
                tx, visit.account.id, campaign.group_id, sandbox=campaign.sandbox
            )
            if tally.failed
            else None,
        }
    quick = _quick_quote(request, campaign) if is_open else None
    errors = {error.field: error.message for error in refusal.fields} if refusal else {}
    form = request.sent.form
    return page(
        "campaign.html",
        request,
        is_live=True,
        status=refusal.status if refusal else 200,
        visit=visit,
        campaign=campaign,
        tally=tally,
        progress=campaigns.progress_of(campaign, tally),
        quote=quick and quick.shown,
        estimated_from=quick and quick.estimated_from,
        credits_left=quick.credits_left if quick else 0,
        by_cap=quick and quick.by_cap,
        unfilled=previews.unfilled_of(quick.quote) if quick else _NOTHING_UNFILLED,
        is_open=is_open,
        is_starting=is_starting,
        is_over=campaign.status in OVER,
        scheduled=_start_time(campaign),
        why=REASONS.get(campaign.status_reason or ""),
        left_out_words=LEFT_OUT,
        refusal=refusal if not (is_open and {"at", "to"} & set(errors)) else None,
        typed=form,
        advice=ADVICE,
        at=form.get("at") or _starts_in_form(campaign, visit),
        as_far_field=AS_FAR_FIELD,
        as_far=AS_FAR_FIELD in form if errors else campaign.as_far_as_credits_reach,
        errors=errors,
        may_change=visit.may(Right.CAMPAIGNS),
        **values,
    )


def _render_launch(
    request: PageRequest,
    visit: Visit,
    refusal: ServiceError | None = None,
    *,
    may_take_longer: bool = False,
) -> Response:
    with request.db.read() as tx:
        visit.require(tx, Right.CAMPAIGNS)
        campaign = of_account(tx, request.path["campaign"], visit)
    quick = None
    try:
        quick = campaigns.quick_quote(request.db, campaign, may_take_longer=may_take_longer)
    except Conflict as error:
        refusal = refusal or error
    return page(
        "campaign_launch.html",
        request,
        status=refusal.status if refusal else 200,
        visit=visit,
        campaign=campaign,
        path=f"{visit.home}/campaigns/{campaigns.text_id(campaign)}",
        quote=quick and quick.shown,
        estimated_from=quick and quick.estimated_from,
        credits_left=quick.credits_left if quick else 0,
        by_cap=quick and quick.by_cap,
        left_out_words=LEFT_OUT,
        can_be_exact=quick and quick.can_be_exact and not may_take_longer,
        as_far_field=AS_FAR_FIELD,
        refusal=refusal,
    )


def _quick_quote(request: PageRequest, campaign: Campaign) -> QuickQuote | None:
    """Returns what a campaign would cost now, or None if it was launched meanwhile. It opens
    transactions, so none may be open.
    """
    try:
        return campaigns.quick_quote(request.db, campaign)
    except states.WrongState:
        return None


def of_account(tx: Connection, campaign_id: str, visit: Visit) -> Campaign:
    """Returns the account's campaign with this id, of either mode. Raises NotFound for one of
    another account, too.
    """
    campaign = campaigns.find(tx, campaign_id)
    if campaign.account_id != visit.account.id:
        raise NotFound(f"There is no campaign with the id {quote_value(campaign_id)}.")
    return campaign


def _is_starting(campaign: Campaign, now_ms: int) -> bool:
    """Returns whether the time of a scheduled campaign has come."""
    return campaign.status == states.SCHEDULED and (campaign.scheduled_at_ms or 0) <= now_ms


def _start_time(campaign: Campaign) -> str:
    """Returns when a campaign is to start, as the account's clocks show it, or nothing."""
    return "" if campaign.scheduled_at_ms is None else start_time(campaign.scheduled_at_ms)


def _starts_in_form(campaign: Campaign, visit: Visit) -> str:
    """Returns when a campaign starts, as a form has it."""
    if campaign.scheduled_at_ms is None:
        return ""
    zone = ZoneInfo(visit.account.time_zone)
    return datetime.fromtimestamp(campaign.scheduled_at_ms / 1_000, zone).strftime("%Y-%m-%dT%H:%M")


def _redirect_to(visit: Visit, campaign: Campaign, notice: DoneNotice | None = None) -> Response:
    return redirect(f"{visit.home}/campaigns/{campaigns.text_id(campaign)}", notice)
