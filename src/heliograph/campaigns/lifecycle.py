"""A campaign is launched, scheduled, paused, resumed and canceled here, and started when its time
has come.

A change is one transaction under the lock of the campaign's row. A launch is several: the audience
is frozen and priced before the one in which it becomes `sending`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits, InvalidRequest, ServiceError
from heliograph.base.log import Log
from heliograph.campaigns import states
from heliograph.campaigns.audience.audience_lock import AudienceLock, AudienceTaken, is_taken
from heliograph.campaigns.audience.freeze import Tell, clear, freeze, read_through
from heliograph.campaigns.audience.price import Quote, pricing_of
from heliograph.campaigns.audience.recipients import Contacts, WrittenRecipients
from heliograph.campaigns.campaign import Campaign, by_id, change, is_suspended, move, text_id
from heliograph.campaigns.draft import require_sender
from heliograph.campaigns.due_steps import IS_DUE
from heliograph.campaigns.states import PAUSED_BY_OPERATOR, SCHEDULED, WrongState
from heliograph.campaigns.tables import campaigns
from heliograph.database.database import Database
from heliograph.database.hot import run_in
from heliograph.messages.groups import cancel_group, mark_held
from heliograph.wallet import wallet_of

# campaigns whose time has come, in one look; the next one finds the others
STARTED_AT_ONCE_MAX: Final = 10
SAMPLE_TRUSTED: Final = 0.8  # of an estimated price, at least, is the exact one

_DUE: Final = (
    sa.select(campaigns.c.id)
    .where(IS_DUE)
    .order_by(campaigns.c.scheduled_at_ms, campaigns.c.id)
    .limit(STARTED_AT_ONCE_MAX)
)

log = Log(__name__)


class AccountSuspended(WrongState):
    """The account is suspended: it sends nothing."""

    reason = states.ACCOUNT_SUSPENDED


class NoRecipients(InvalidRequest):
    """There is nobody to send this campaign to."""

    reason = states.NO_RECIPIENTS


class Launched(NamedTuple):
    campaign: Campaign
    quote: Quote


def audience_size(tx: Connection, campaign: Campaign) -> int:
    """Returns how many people are looked at to freeze or to estimate a campaign's audience."""
    return (
        WrittenRecipients(campaign) if campaign.audience.kind == "numbers" else Contacts(campaign)
    ).size(tx)


def estimate(db: Database, campaign: Campaign, tell: Tell = lambda people: None) -> Quote:
    """Returns what a campaign would cost now, and whom it would reach; nothing is stored. Raises
    WrongState when the campaign was launched already.
    """
    states.require_one_of(campaign.status, states.STARTABLE, "be estimated")
    with db.read() as tx:
        pricing, available = (
            pricing_of(tx, campaign),
            wallet_of(tx, campaign.account_id).sms_credits,
        )
    read_through(db, campaign, pricing, tell)
    return pricing.quote(available)


def launch(
    db: Database,
    campaign_id: str,
    *,
    as_far_as_credits_reach: bool | None = None,
    tell: Tell = lambda people: None,
) -> Launched:
    """Freezes the audience of a campaign, prices it, and starts to send. If
    `as_far_as_credits_reach` is None, the value with which it was scheduled counts; without one, it
    is sent only if the credits reach for all. `tell` is called again and again with the number of
    people that were looked at.

    A campaign whose launch is refused stays as it was. Raises WrongState, AccountSuspended,
    InvalidRequest for the sender, NoRecipients, InsufficientCredits with both figures,
    StorageQuotaReached. AudienceTaken means that somebody else launched it, too, and this launch
    gave way.
    """
    lock = AudienceLock(db, campaign_id)

    def begin(tx: Connection) -> Campaign:
        campaign = by_id(tx, campaign_id, lock=True)
        _require_startable(tx, campaign, "be launched")
        return campaign

    return _start(lock, lock.take(begin), tell, as_far=as_far_as_credits_reach)


def start_due(db: Database, *, tell: Tell = lambda people: None) -> list[str]:
    """Starts the scheduled campaigns whose time has come; those that cannot be started have
    `failed`. Returns the raw ids of those that are sending now.

    Several processes may do so at once: a campaign that another process is at work on is left to
    that one, until it has shown nothing for 30 s.
    """
    with db.read() as tx:
        due = tx.execute(_DUE, {"now_ms": clock.now_ms()}).scalars().all()
    return [campaign_id for campaign_id in due if _start_one(db, campaign_id, tell)]


def _start_one(db: Database, campaign_id: str, tell: Tell) -> bool:
    lock = AudienceLock(db, campaign_id)

    def begin(tx: Connection) -> Campaign:
        campaign = by_id(tx, campaign_id, lock=True)
        if (
            campaign.status != SCHEDULED
            or is_taken(campaign.freezing)
            or (campaign.scheduled_at_ms or 0) > clock.now_ms()
        ):
            raise AudienceTaken()
        try:
            _require_startable(tx, campaign, "be launched")
        except (AccountSuspended, InvalidRequest) as error:
            return _failed(tx, campaign, error)
        return campaign

    try:
        campaign = lock.take(begin)
        if campaign.status == SCHEDULED:
            _start(lock, campaign, tell, refused=_failed)
    except AudienceTaken:
        return False
    except (NoRecipients, InsufficientCredits, quotas.StorageQuotaReached):
        return False
    return campaign.status == SCHEDULED


def _failed(
    tx: Connection, campaign: Campaign, error: ServiceError, opted_out: int = 0
) -> Campaign:
    log.warning("campaign_failed", campaign=text_id(campaign), reason=error.reason)
    return move(
        tx,
        campaign,
        states.FAILED,
        status_reason=error.reason,
        opted_out=opted_out,
        ended_at_ms=clock.now_ms(),
    )


def _start(
    lock: AudienceLock,
    campaign: Campaign,
    tell: Tell,
    refused: Callable[[Connection, Campaign, ServiceError, int], object] | None = None,
    as_far: bool | None = None,
) -> Launched:
    """Freezes the audience and starts to send. With `as_far`, it starts also when the credits do
    not reach for all; None means that the campaign's row decides. `refused` says what becomes of a
    campaign that cannot be sent. It is called in the transaction that finds this out, with the
    number of those who opted out.
    """
    with lock.db.read() as tx:
        pricing = pricing_of(tx, campaign)
    try:
        freeze(lock, campaign, pricing, tell)
    except quotas.StorageQuotaReached as error:
        _give_up(lock, campaign, error, refused)
        raise

    def begin_to_send(tx: Connection) -> Launched | ServiceError:
        found = by_id(tx, campaign.id)
        is_closed = is_suspended(tx, campaign.account_id)  # since it was looked at
        quote = pricing.quote(wallet_of(tx, campaign.account_id).sms_credits)
        reaches = found.as_far_as_credits_reach if as_far is None else as_far
        refusal = AccountSuspended() if is_closed else _refusal(quote, as_far=reaches)
        if refusal is not None:
            if refused is not None:
                refused(tx, found, refusal, quote.opted_out)
            return refusal
        sending = move(
            tx,
            found,
            states.SENDING,
            status_reason=None,
            started_at_ms=clock.now_ms(),
            cursor=0,
            expanded=False,
            as_far_as_credits_reach=reaches,
            opted_out=quote.opted_out,
            refused=pricing.unsendable.total(),
            recipients_total=quote.recipients + sum(quote.refused.values()),
            credits_estimated=quote.credits,
        )
        return Launched(sending, quote)

    launched = lock.finish(begin_to_send)
    if isinstance(launched, ServiceError):
        raise launched
    return launched


def _give_up(
    lock: AudienceLock,
    campaign: Campaign,
    error: quotas.StorageQuotaReached,
    refused: Callable[[Connection, Campaign, ServiceError, int], object] | None,
) -> None:
    """Removes the contacts that were stored; a file's numbers stay. The campaign is as it was
    before, or as `refused` makes it.
    """
    if campaign.audience.kind != "numbers":
        clear(lock, campaign)
    lock.finish(
        lambda tx: refused(tx, by_id(tx, campaign.id), error, 0) if refused is not None else None
    )


def _refusal(quote: Quote, *, as_far: bool) -> ServiceError | None:
    if quote.recipients == 0:
        whom = ", ".join(
            [
                f"{people} {reason}"
                for reason, people in sorted(
                    {**quote.refused, "opted_out": quote.opted_out}.items()
                )
                if people
            ]
        )
        return NoRecipients(
            f"There is nobody to send this campaign to ({whom or 'its audience is empty'})."
        )
    if quote.credits > quote.credits_available and not as_far:
        return InsufficientCredits(
            f"This campaign takes {quote.credits} credits; the wallet holds"
            f" {quote.credits_available}.",
            required=quote.credits,
            available=quote.credits_available,
        )
    return None


def _refusal_of_sample(quote: Quote, *, as_far: bool) -> ServiceError | None:
    if quote.credits_available >= quote.credits * SAMPLE_TRUSTED or as_far:
        return None
    return InsufficientCredits(
        f"This campaign takes about {quote.credits} credits; the wallet holds"
        f" {quote.credits_available}.",
        required=quote.credits,
        available=quote.credits_available,
    )


def _require_startable(tx: Connection, campaign: Campaign, what: str) -> None:
    """Checks that a campaign may be started. Raises WrongState, AccountSuspended or
    InvalidRequest.
    """
    if campaign.status_reason == states.RECIPIENTS_ERASED:
        raise WrongState(
            "This campaign was canceled and its numbers were erased, because nobody launched it for"
            " a long time. Create a new campaign."
        )
    states.require_one_of(campaign.status, states.STARTABLE, what)
    if not campaign.audience.whole:
        raise WrongState(
            "The file of this campaign's numbers was not read to its end. Cancel the campaign, and"
            " create a new one."
        )
    if is_suspended(tx, campaign.account_id):
        raise AccountSuspended()
    require_sender(tx, campaign.account_id, campaign.sender, sandbox=campaign.sandbox)


def schedule(
    tx: Connection, campaign_id: str, at_ms: int, *, as_far_as_credits_reach: bool | None = None
) -> Campaign:
    """Schedules a campaign to start at that time (`start_time.py` reads it). If it is scheduled
    already, the time changes, and so does `as_far_as_credits_reach` if it is given. Raises
    WrongState, AccountSuspended, InvalidRequest.
    """
    campaign = by_id(tx, campaign_id, lock=True)
    _require_startable(tx, campaign, "be scheduled")
    as_far = (
        campaign.as_far_as_credits_reach
        if as_far_as_credits_reach is None
        else as_far_as_credits_reach
    )
    return move(
        tx,
        campaign,
        SCHEDULED,
        scheduled_at_ms=at_ms,
        as_far_as_credits_reach=as_far,
        freezing=None,
    )


def start_soon(
    tx: Connection,
    campaign_id: str,
    quote: Quote,
    *,
    is_sample: bool = False,
    as_far_as_credits_reach: bool | None = None,
    now_ms: int,
) -> bool:
    """Lets the running service launch a campaign within seconds, for a caller who cannot wait until
    the audience is frozen: it is scheduled for now. `quote` is an estimate of just now; what a
    launch with these figures would refuse, this refuses. With `is_sample`, the quote is that of a
    sample of the audience. It does not show that there is nobody to send to, and refuses for lack
    of credits only where the wallet holds less than SAMPLE_TRUSTED of them.

    Returns False, and changes nothing, when the campaign is about to start already.

    Raises WrongState, AccountSuspended, InvalidRequest, NoRecipients and InsufficientCredits.
    """
    waiting = by_id(tx, campaign_id, lock=True)
    is_due = waiting.status == SCHEDULED and (waiting.scheduled_at_ms or 0) <= now_ms
    if is_due and as_far_as_credits_reach in (None, waiting.as_far_as_credits_reach):
        return False
    campaign = schedule(tx, campaign_id, now_ms, as_far_as_credits_reach=as_far_as_credits_reach)
    refusal = (_refusal_of_sample if is_sample else _refusal)(
        quote, as_far=campaign.as_far_as_credits_reach
    )
    if refusal is not None:
        raise refusal
    return True


def pause(tx: Connection, campaign_id: str, reason: str = PAUSED_BY_OPERATOR) -> Campaign:
    """Pauses a campaign: what is queued waits. A campaign that has paused by itself, and would go
    on by itself, does not do so then. Raises WrongState.
    """
    campaign = by_id(tx, campaign_id, lock=True)
    if campaign.status == states.PAUSED and campaign.status_reason != reason == PAUSED_BY_OPERATOR:
        paused = change(tx, campaign, status_reason=reason)
    else:
        paused = move(tx, campaign, states.PAUSED, status_reason=reason)
    if reason == PAUSED_BY_OPERATOR:
        # also when what an earlier pause has held is still being let go
        mark_held(tx, paused.group_id, held=False)
    return paused


def resume(tx: Connection, campaign_id: str) -> Campaign:
    """Lets a paused campaign go on. Raises WrongState, AccountSuspended."""
    campaign = by_id(tx, campaign_id, lock=True)
    states.require_one_of(campaign.status, (states.PAUSED,), "be resumed")
    if is_suspended(tx, campaign.account_id):
        raise AccountSuspended()
    mark_held(tx, campaign.group_id, held=True)  # in part at least, however far holding it has come
    return move(tx, campaign, states.SENDING, status_reason=None)


def cancel(tx: Connection, campaign_id: str, *, now_ms: int) -> Campaign:
    """Cancels a campaign for good: what is queued fails, and is refunded. Raises WrongState."""
    campaign = by_id(tx, campaign_id, lock=True)
    begun = campaign.started_at_ms is not None  # then it ends when nothing of it is queued any more
    canceled = move(
        tx,
        campaign,
        states.CANCELED,
        status_reason=None,
        ended_at_ms=None if begun else now_ms,
        freezing=None,
    )
    run_in(tx, lambda hot: cancel_group(hot, campaign.group_id, now_ms))
    return canceled
