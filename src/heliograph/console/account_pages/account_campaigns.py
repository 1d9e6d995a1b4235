"""Shows the campaigns of an account, and pauses, resumes and cancels one, as the commands do. Their
texts are the account's, and are not shown.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, campaigns
from heliograph.accounts import Account, quotas
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.campaigns import Campaign, states
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.messages.groups import GroupTally, tallies_of, tally_of
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

# what can be done, and the status that a campaign has then
CHANGES: Final = {
    "pause": states.PAUSED,
    "resume": states.SENDING,
    "cancel": states.CANCELED,
}
# why a campaign rests, is over or has failed, by its `status_reason`
WHY: Final = {
    states.PAUSED_BY_OPERATOR: "Somebody has paused it: a member of the account, or an operator.",
    states.INSUFFICIENT_CREDITS: "The wallet holds too few credits. If it is paused, it goes on by"
    " itself after a top-up.",
    states.DAILY_CAP_REACHED: "The account has reached its daily cap. It goes on by itself on the"
    " next day (UTC), and so on each day, until all of it has left.",
    states.SENDER_NOT_APPROVED: "Its sender is not approved any more.",
    states.ACCOUNT_SUSPENDED: "The account was suspended.",
    states.NO_RECIPIENTS: "When its time came, there was nobody to send it to.",
    quotas.StorageQuotaReached.reason: "The account has stored as much as it may.",
    states.RECIPIENTS_ERASED: "Nobody launched or resumed it for so long that its recipients were"
    " erased.",
}


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the campaigns of both modes, newest first. Raises NotFound, InvalidRequest."""
    account = accounts.with_text_id(tx, request.path["account"])
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    asked = with_one_more_row(wanted)
    found = campaigns.page(tx, limit=asked.limit, account_id=account.id, before_id=asked.before)
    displayed = list_page(request, wanted, found, lambda campaign: campaign.id)
    tallies = tallies_of(tx, [campaign.group_id for campaign in displayed.rows])
    return page(
        "account_campaigns.html",
        request,
        visit,
        account=account,
        text_id=accounts.text_id(account),
        campaigns=[
            (
                campaigns.text_id(campaign),
                campaign,
                campaigns.progress_of(campaign, tallies.get(campaign.group_id, GroupTally())),
            )
            for campaign in displayed.rows
        ],
        older=displayed.older,
    )


def show_campaign(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows one campaign, how far it is, and the forms of what can be done with it now. Raises
    NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    campaign = _of_account(tx, request, account)
    tally = tally_of(tx, campaign.group_id)
    return page(
        "account_campaign.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        campaign=campaign,
        campaign_id=campaigns.text_id(campaign),
        tally=tally,
        progress=campaigns.progress_of(campaign, tally),
        why=WHY.get(campaign.status_reason or ""),
        changes=_possible_changes(campaign),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Pauses, resumes or cancels a campaign. Raises NotFound, and InvalidRequest for what its state
    does not allow.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), tuple(CHANGES))
    reason = reason_of(request)
    account = accounts.with_text_id(tx, request.path["account"])
    before = _of_account(tx, request, account, lock=True)
    text_id = campaigns.text_id(before)
    path = f"{ACCOUNTS}/{accounts.text_id(account)}/campaigns/{text_id}"
    try:
        after = _changed(tx, before, wanted, request.now_ms)
    except states.WrongState as refused:
        if before.status == CHANGES[wanted]:
            return redirect(path, DoneNotice.DONE_ALREADY)
        raise InvalidRequest(refused.message) from refused
    visit.audit(
        tx,
        account.id,
        f"campaign.{wanted}",
        text_id,
        before=_in_words(before),
        after=_in_words(after),
        reason=reason,
    )
    return redirect(path, DoneNotice.SAVED)


def _changed(tx: Connection, campaign: Campaign, wanted: str, now_ms: int) -> Campaign:
    """Returns the campaign after what is wanted was done to it. Raises WrongState."""
    match wanted:
        case "pause":
            return campaigns.pause(tx, campaign.id)
        case "resume":
            return campaigns.resume(tx, campaign.id)
        case _:
            return campaigns.cancel(tx, campaign.id, now_ms=now_ms)


def _possible_changes(campaign: Campaign) -> list[str]:
    """Returns what can be done with a campaign now. One that has paused by itself can be paused, so
    that it does not go on by itself.
    """
    has_paused_by_itself = (
        campaign.status == states.PAUSED and campaign.status_reason != states.PAUSED_BY_OPERATOR
    )
    possible = {
        "pause": campaign.status == states.SENDING or has_paused_by_itself,
        "resume": campaign.status == states.PAUSED,
        "cancel": states.CAMPAIGN.allows(campaign.status, states.CANCELED),
    }
    return [wanted for wanted, is_possible in possible.items() if is_possible]


def _of_account(
    tx: Connection, request: PageRequest, account: Account, *, lock: bool = False
) -> Campaign:
    """Returns the campaign that the path names. Raises NotFound for one of another account, too."""
    named = request.path["campaign"]
    campaign = campaigns.find(tx, named, lock=lock)
    if campaign.account_id != account.id:
        raise NotFound(f"There is no campaign with the id {quote_value(named)}.")
    return campaign


def _in_words(campaign: Campaign) -> str:
    """Returns the state as the log holds it, such as `Spring: paused (insufficient_credits)`."""
    why = "" if campaign.status_reason is None else f" ({campaign.status_reason})"
    return f"{campaign.name}: {campaign.status}{why}"
