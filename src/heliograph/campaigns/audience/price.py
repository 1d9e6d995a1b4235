"""Computes what an audience costs, and who of it cannot be sent to, by the same plans as
accepting.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.recipients import AudienceChunk, Group
from heliograph.campaigns.campaign import Campaign
from heliograph.text import Phone

if TYPE_CHECKING:
    from heliograph.messages.accept import AccountFacts, Tariff


class Quote(NamedTuple):
    """Holds a quote. `recipients` counts those who get a text. `opted_out` and `refused` (by
    reason) count the others. Credits are 0 in sandbox.

    `lacking` counts people by the placeholder that they have no value for.
    """

    recipients: int
    opted_out: int
    refused: dict[str, int]
    lacking: dict[str, int]
    segments: int
    credits: int
    credits_available: int

    @property
    def people(self) -> int:
        """Returns whose texts were looked at: all of the audience but those who opted out."""
        return self.recipients + sum(self.refused.values())

    @property
    def credits_left(self) -> int:
        """Returns what the wallet would hold afterwards. It is negative if it holds too little."""
        return self.credits_available - self.credits


class Pricing:
    """Adds up groups of recipients, by routes and rates as they were when it was made."""

    def __init__(
        self, account_id: str, facts: "AccountFacts", tariff: "Tariff", *, sandbox: bool
    ) -> None:
        self._offers = tariff.offers(account_id, facts.countries, sandbox=sandbox)
        self._sandbox = sandbox
        self.digits = tariff.digits  # as many of a number decide
        self.recipients = self.opted_out = self.segments = self.credits = 0
        self.unreachable: Counter[str] = Counter()  # people, by the reason
        self.unsendable: Counter[str] = Counter()
        self._lacking: Counter[str] = Counter()

    def add(self, chunk: AudienceChunk, filling: Filling) -> None:
        """Adds a chunk. `filling` is what was found when its texts were filled in."""
        self.opted_out += chunk.opted_out
        self.unsendable += filling.unsendable
        self._lacking += filling.lacking
        self.add_groups(chunk.groups)

    def add_groups(self, groups: Iterable[Group]) -> None:
        """Adds groups. `digits` of a group are the first digits of its numbers, or all digits of
        shorter numbers.
        """
        for group in groups:
            plan, refusal = self._offers.offer(Phone(group.digits, group.country_code))
            if refusal is not None:
                self.unreachable[refusal] += group.recipients
                continue
            self.recipients += group.recipients
            self.segments += group.segments
            if not self._sandbox:
                self.credits += plan.rate * group.segments

    def quote(self, available: int) -> Quote:
        """Returns the quote. `available` is the wallet's credits."""
        return Quote(
            self.recipients,
            self.opted_out,
            dict(self.unreachable + self.unsendable),
            lacking=dict(self._lacking),
            segments=self.segments,
            credits=self.credits,
            credits_available=available,
        )


def pricing_of(tx: Connection, campaign: Campaign) -> Pricing:
    """Returns the pricing by routes and rates as they are now."""
    from heliograph.messages.accept import FACTS, load_tariff

    key = (campaign.account_id, campaign.sandbox)
    tariff = load_tariff(tx, campaign.account_id)
    return Pricing(
        campaign.account_id, FACTS.load(tx, [key])[key], tariff, sandbox=campaign.sandbox
    )
