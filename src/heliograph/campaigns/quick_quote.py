"""Prices a campaign for a page, within a bounded time: exactly if its audience is small, else by a
sample of it.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.campaigns import states
from heliograph.campaigns.audience import members
from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.price import Quote, pricing_of
from heliograph.campaigns.audience.recipients import AudienceChunk, WrittenRecipients
from heliograph.campaigns.audience.sample import Stratum, price_sample, price_stratum
from heliograph.campaigns.campaign import Campaign, needs_filling
from heliograph.database.database import Database
from heliograph.wallet import daily_cap, wallet_of

DIGITS_KEPT: Final = 2  # of an estimated figure: a sample of 1,000 is not that exact
# People of an audience whose price is exact; more are estimated. A page takes 0.1 s at most for it.
# The database adds up those whose texts are known; the others' texts are filled in one by one.
ADDED_UP_MAX: Final = 30_000
FILLED_IN_MAX: Final = 3_000
PRICED_WHEN_ASKED_MAX: Final = 50_000  # 0.9 s at most, for somebody who waits for the exact price


class SpentByCap(NamedTuple):
    """Says how a daily cap spreads a campaign: over today (UTC), and so many `more_days`, which are
    None if the cap is 0.
    """

    credits_today: int
    more_days: int | None


class QuickQuote(NamedTuple):
    """Holds a quote, and how many people it was estimated from; None means that it is exact.
    `cap` is the account's daily cap; None means that there is none.
    """

    quote: Quote
    estimated_from: int | None = None
    cap: daily_cap.CapOfAccount | None = None

    @property
    def shown(self) -> Quote:
        """Returns the quote as a page shows it: estimated figures are rounded."""
        if self.estimated_from is None:
            return self.quote
        quote = self.quote
        return Quote(
            rounded(quote.recipients),
            rounded(quote.opted_out),
            {reason: rounded(people) for reason, people in quote.refused.items()},
            lacking={name: rounded(people) for name, people in quote.lacking.items()},
            segments=rounded(quote.segments),
            credits=rounded(quote.credits),
            credits_available=quote.credits_available,
        )

    @property
    def by_cap(self) -> SpentByCap | None:
        """Returns how the daily cap spreads the campaign if nothing else is sent, or None if it can
        be sent today.
        """
        if self.cap is None or self.shown.credits <= self.cap.left_today:
            return None
        a_day, left = self.cap
        later = self.shown.credits - left
        return SpentByCap(left, -(-later // a_day) if a_day else None)

    @property
    def can_be_exact(self) -> bool:
        """Returns whether `may_take_longer` would probably find the exact price instead."""
        looked_at = self.quote.people + self.quote.opted_out
        return self.estimated_from is not None and looked_at <= PRICED_WHEN_ASKED_MAX

    @property
    def credits_left(self) -> int:
        """Returns what the wallet would hold afterwards, as a page shows it. It is negative if the
        wallet holds too little.
        """
        left = self.shown.credits_left
        return left if self.estimated_from is None else rounded(left)


def quick_quote(db: Database, campaign: Campaign, *, may_take_longer: bool = False) -> QuickQuote:
    """Returns what a campaign would cost now. A large audience is estimated; with
    `may_take_longer`, only one of more than PRICED_WHEN_ASKED_MAX people. It opens a transaction,
    so none may be open.

    Raises WrongState when the campaign was launched already.
    """
    states.require_one_of(campaign.status, states.STARTABLE, "be estimated")
    fills_in = needs_filling(campaign)
    exact_up_to = FILLED_IN_MAX if fills_in else ADDED_UP_MAX
    if may_take_longer:
        exact_up_to = PRICED_WHEN_ASKED_MAX
    with db.read() as tx:
        pricing = pricing_of(tx, campaign)
        available = wallet_of(tx, campaign.account_id).sms_credits
        cap = daily_cap.cap_of_account(tx, campaign.account_id, clock.now_ms())
        estimated_from = None
        if _people_up_to(tx, campaign, exact_up_to + 1) > exact_up_to:
            estimated_from = price_sample(tx, campaign, pricing)
        elif fills_in:
            people = members.read_up_to(tx, campaign, exact_up_to)
            price_stratum(campaign.template, Stratum(1, people), pricing)
        else:
            pricing.add(_add_up(tx, campaign, pricing.digits), Filling(campaign.template))
    return QuickQuote(pricing.quote(available), estimated_from, cap)


def rounded(figure: int) -> int:
    """Returns an estimated figure with as many digits as can be relied on, such as 340,000."""
    return round(figure, min(0, DIGITS_KEPT - len(str(abs(figure)))))


def _people_up_to(tx: Connection, campaign: Campaign, most: int) -> int:
    if campaign.audience.kind == "numbers":
        return campaign.audience.size or WrittenRecipients(campaign).size(tx, most=most)
    return members.count_up_to(tx, campaign, most)


def _add_up(tx: Connection, campaign: Campaign, digits: int) -> AudienceChunk:
    if campaign.audience.kind == "numbers":
        segments = campaign.template.plain_segments
        return WrittenRecipients(campaign).add_up(tx, digits, segments)
    return members.add_up(tx, campaign, digits)
