"""Recipients become priced messages, for sends and for chunks of campaigns alike. It is pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from heliograph.messages.accept.tariff import DestinationPlan, Offers, Run
from heliograph.text import Phone

# messages to a destination that carriers share go to one of them before another can have its turn:
# a run of the queue is one row, and a carrier's turn reads few rows
STRETCH: Final = 100


class RefusedRecipient(NamedTuple):
    """Names a recipient that gets no message. `place` is its position in the request, from 0."""

    place: int
    reason: str


class PricedRecipients(msgspec.Struct):
    """Holds the recipients that get a message, with their prices, and those that are refused. The
    first four columns have one value for each recipient that gets a message, in the order of the
    request.
    """

    recipients: list[int]
    countries: list[str | None]
    carriers: list[int]
    credits: list[int]  # charged for each message; in sandbox nothing is
    runs: list[Run]
    refused: list[RefusedRecipient]
    credits_required: int  # for all messages together, in sandbox too
    # what the first recipient costs that the balance does not pay for; that one and all after it
    # are neither in the columns nor refused
    short_of: int | None


def price(
    phones: Iterable[Phone], segments: int, offers: Offers, balance: int | None = None
) -> PricedRecipients:
    """Prices a message of so many segments to each phone. With a `balance` in credits, it stops at
    the first phone that the balance does not pay for.
    """
    recipients: list[int] = []
    countries: list[str | None] = []
    carriers: list[int] = []
    credits: list[int] = []
    runs: list[Run] = []
    refused: list[RefusedRecipient] = []
    short_of: int | None = None
    known, digits_max, left = offers.known, offers.digits, balance
    plan_of_run: DestinationPlan | None = None
    for place, phone in enumerate(phones):
        digits, country_code = phone
        plan, refusal = known.get((digits[:digits_max], country_code)) or offers.find(phone)
        if refusal is not None:
            refused.append(RefusedRecipient(place, refusal))
            continue
        cost = plan.rate * segments
        if left is not None:
            if cost > left:
                short_of = cost
                break
            left -= cost
        if plan is not plan_of_run:
            if plan_of_run is not None and not _go_together(plan, plan_of_run):
                _end_run(runs, plan_of_run, recipients, carriers)
            plan_of_run = plan
        recipients.append(int(digits))
        countries.append(country_code)
        carriers.append(plan.carrier_id)
        credits.append(cost)
    if plan_of_run is not None:
        _end_run(runs, plan_of_run, recipients, carriers)
    return PricedRecipients(
        recipients,
        countries,
        carriers,
        [0] * len(credits) if offers.sandbox else credits,
        runs=runs,
        refused=refused,
        credits_required=sum(credits),
        short_of=short_of,
    )


def _go_together(plan: DestinationPlan, other: DestinationPlan) -> bool:
    """Returns whether messages of both plans may be in one run."""
    return plan.carrier_id == other.carrier_id and plan.prefix == other.prefix


def _end_run(
    runs: list[Run], plan: DestinationPlan, recipients: list[int], carriers: list[int]
) -> None:
    """Adds the run of the messages from the last run's end on. Where carriers share them, each
    stretch goes to the one that its first number falls to, and the column of carriers says so.
    """
    first = runs[-1].first + runs[-1].messages if runs else 0
    end = len(recipients)
    if plan.sharing is None:
        runs.append(Run(plan.carrier_id, plan.prefix, first, end - first))
        return
    begin, carrier_id = first, plan.carrier_of(recipients[first])
    for place in range(first + STRETCH, end, STRETCH):
        after = plan.carrier_of(recipients[place])
        if after != carrier_id:
            runs.append(Run(carrier_id, plan.prefix, begin, place - begin))
            carriers[begin:place] = [carrier_id] * (place - begin)
            begin, carrier_id = place, after
    runs.append(Run(carrier_id, plan.prefix, begin, end - begin))
    carriers[begin:end] = [carrier_id] * (end - begin)
