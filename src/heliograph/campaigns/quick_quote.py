"""Prices a campaign for a page, within a bounded time: exactly if its audience is small, else by a
sample of it.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.campaigns import states
from heliograph.campaigns.audience import members
from heliograph.campaigns.audience.price import Quote, pricing_of
from heliograph.campaigns.audience.recipients import WrittenRecipients
from heliograph.campaigns.audience.sample import Stratum, price_sample, price_stratum
from heliograph.campaigns.campaign import Campaign
from heliograph.campaigns.lifecycle import estimate
from heliograph.database.database import Database
from heliograph.wallet import wallet_of

DIGITS_KEPT: Final = 2  # of an estimated figure: a sample of 1,000 is not that exact


class QuickQuote(NamedTuple):
    """Holds a quote, and how many people it was estimated from; None means that it is exact."""

    quote: Quote
    estimated_from: int | None = None

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
    def credits_left(self) -> int:
        """Returns what the wallet would hold afterwards, as a page shows it. It is negative if the
        wallet holds too little.
        """
        left = self.shown.credits_left
        return left if self.estimated_from is None else rounded(left)


def quick_quote(db: Database, campaign: Campaign, *, exact_up_to: int) -> QuickQuote:
    """Returns what a campaign would cost now. An audience of more than `exact_up_to` people is
    estimated. It opens transactions, so none may be open.

    Raises WrongState when the campaign was launched already.
    """
    states.require_one_of(campaign.status, states.STARTABLE, "be estimated")
    with db.read() as tx:
        pricing = pricing_of(tx, campaign)
        available = wallet_of(tx, campaign.account_id).sms_credits
        if _people_up_to(tx, campaign, exact_up_to + 1) > exact_up_to:
            looked_at = price_sample(tx, campaign, pricing)
            return QuickQuote(pricing.quote(available), looked_at)
        has_tags = campaign.audience.kind == "tags"
        people = members.read_up_to(tx, campaign, exact_up_to) if has_tags else ()
    if not has_tags:
        return QuickQuote(estimate(db, campaign))
    price_stratum(campaign.template, Stratum(1, people), pricing)
    return QuickQuote(pricing.quote(available))


def rounded(figure: int) -> int:
    """Returns an estimated figure with as many digits as can be relied on, such as 340,000."""
    return round(figure, min(0, DIGITS_KEPT - len(str(abs(figure)))))


def _people_up_to(tx: Connection, campaign: Campaign, most: int) -> int:
    if campaign.audience.kind == "numbers":
        return WrittenRecipients(campaign).size(tx, most=most)
    return members.count_up_to(tx, campaign, most)
