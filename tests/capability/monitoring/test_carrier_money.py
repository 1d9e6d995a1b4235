"""The money that carriers took is what the ledger was paid for it, whatever became of it."""

import random
from decimal import Decimal

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from heliograph import pricing
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.carriers import ReceiptState, SubmitOutcome, current_rates, remove_carrier, routing
from heliograph.jobs.carrier_figures import CarrierCounter
from heliograph.messages.states import all_parts
from heliograph.messages.sweeps import fail_expired, fail_over
from heliograph.messages.tables import inflight, messages, queue
from heliograph.monitoring import carrier_rollups
from heliograph.monitoring.carrier_days import CarrierDay, by_carrier, days_of_carriers
from heliograph.monitoring.carrier_money import credits_of
from heliograph.monitoring.tables import carrier_money
from heliograph.wallet import prices
from tests.support.capability.sending import House, ScriptedLink
from tests.support.capability.sweeping import routes
from tests.support.factories import awaited, open_carrier, open_route, phones

TEXTS = ("hello", "x" * 161, "x" * 500)
ANSWERS = (
    *[SubmitOutcome.ACCEPTED] * 6,
    SubmitOutcome.REFUSED,
    SubmitOutcome.RETRY,
    SubmitOutcome.UNSPENT,
)
RECEIPTS = (*[ReceiptState.DELIVRD] * 4, ReceiptState.UNDELIV, ReceiptState.EXPIRED)
NIGERIA = "2348031234567"


def counted(house: House) -> list[CarrierDay]:
    """Counts all quarters of an hour that are due, and returns what carriers took."""
    counter, now_ms = CarrierCounter(house.db, None), clock.now_ms()
    with house.db.read() as tx:
        rounds = len(carrier_rollups.due(tx, now_ms))
    for _ in range(rounds):
        counter._rests_until_ms = 0
        counter.count_due(now_ms)
    with house.db.snapshot() as tx:
        return days_of_carriers(tx, now_ms)


async def answered(link: ScriptedLink, chance: random.Random) -> None:
    """Lets a carrier take or refuse what is on the wire, and tell what became of some of it."""
    await link.turn.run_once()
    for submission in list(link.open.values()):
        outcome = chance.choice(ANSWERS)
        (ref,) = link.answer(submission, outcome=outcome)
        if outcome is SubmitOutcome.ACCEPTED and chance.random() < 0.7:
            link.receive(ref, submission.recipient, chance.choice(RECEIPTS))
    await link.turn.run_once()


@awaited
@pytest.mark.parametrize("seed", [3, 8])
async def test_credits_by_carrier_are_what_the_ledger_was_charged_less_what_it_gave_back(
    house: House, seed: int
) -> None:
    chance = random.Random(seed)
    second = open_carrier(house.db, "second", prefix=None)
    open_route(house.db, "carrier", "second")
    with house.db.write() as tx:
        current_rates.store(tx, "233", 3)
        pricing.set_cost(tx, "carrier", "", Decimal("0.0125"), "GHS")
    links = [house.turn(20), house.turn(20, carrier_id=second)]
    begun_ms = clock.now_ms()
    for step in range(12):
        recipients = [*phones(chance.randrange(1, 4), first=10 * step), NIGERIA]
        await house.tried(recipients, chance.choice(TEXTS), validity_s=chance.choice([60, 3_600]))
        if chance.random() < 0.4:  # the first carrier is down for a while
            await fail_over(
                house.db,
                routes(house.db),
                frozenset({house.carrier_id}),
                house.queue,
                clock.now_ms(),
            )
        for link in links:
            await answered(link, chance)
        clock.move(chance.choice([1_000, 70_000, HOUR_MS]))
        await fail_expired(house.db, clock.now_ms())
    for link in links:
        await link.turn.run_once()
        link.answer(*link.open.values())
        await link.turn.run_once()
    clock.move(2 * HOUR_MS)
    await fail_expired(house.db, clock.now_ms())
    assert house.count(queue) == house.count(inflight) == 0
    days = counted(house)
    spent = -sum(house.entries("sms_charge")) - sum(house.entries("sms_refund"))
    assert sum(each.money.credits for each in days) == spent > 0
    assert sum(house.entries("sms_refund")) > 0
    sums = {(each.carrier, each.currency): each.money for each in by_carrier(days)}
    assert set(sums) == {("carrier", "GHS"), ("second", "")}
    assert sums["carrier", "GHS"].cost_micro == 12_500 * sums["carrier", "GHS"].segments
    taken = sum(row.parts_accepted.bit_count() for row in house.messages())
    assert sum(each.segments for each in sums.values()) == taken
    assert {each.day_ms for each in days} <= set(
        range(begun_ms - begun_ms % DAY_MS, clock.now_ms(), DAY_MS)
    )


@awaited
async def test_a_quarter_is_priced_at_the_costs_of_its_last_count(house: House) -> None:
    with house.db.write() as tx:
        pricing.set_cost(tx, "carrier", "", "1", "GHS")
        pricing.set_cost(tx, "carrier", "233200", "0.000001", "EUR")
        prices.set_price(tx, "GHS", "35", 1_000)
    link = await house.submitted([*phones(3), "233501234567"], "x" * 161)
    link.answer(*link.open.values())
    await link.turn.run_once()
    euros, cedis = by_carrier(counted(house))
    assert (euros.currency, euros.money, euros.margin_minor) == ("EUR", (6, 6, 6), None)
    assert (cedis.currency, cedis.money) == ("GHS", (2, 2, 2_000_000))
    # two credits at 0.035 are 0.07, for what costs 2.00
    assert (cedis.cost_minor, cedis.sold_minor, cedis.margin_minor) == (200, 7, -193)
    with house.db.write() as tx:
        pricing.set_cost(tx, "carrier", "233200", "2", "EUR")
        pricing.remove_cost(tx, "carrier", "")
        tx.execute(
            sa.update(messages)
            .where(messages.c.recipient == int(phones(1)[0]))
            .values(recipient=None)
        )
    clock.move(HOUR_MS)
    unknown, euros = by_carrier(counted(house))
    assert (unknown.currency, unknown.money) == ("", (4, 4, 0)), "one number was erased"
    assert (unknown.cost_minor, unknown.margin_minor) == (None, None)
    assert (euros.money.segments, euros.money.cost_micro) == (4, 8_000_000)


@awaited
async def test_what_a_removed_carrier_took_keeps_its_cost(house: House) -> None:
    with house.db.write() as tx:
        pricing.set_cost(tx, "carrier", "", "1", "GHS")
    link = await house.submitted(phones(3), "hello")
    link.answer(*link.open.values())
    await link.turn.run_once()
    (before,) = by_carrier(counted(house))
    assert (before.currency, before.money.segments, before.cost_minor) == ("GHS", 3, 300)
    with house.db.write() as tx:
        for route in routing.all_routes(tx):
            routing.remove_route(tx, route.prefix)
        remove_carrier(tx, "carrier", messages_waiting=0)
    clock.move(HOUR_MS)
    (after,) = by_carrier(counted(house))
    assert after == before._replace(carrier=after.carrier)
    assert after.carrier.endswith(" (removed)")


@awaited
async def test_what_sandbox_sends_costs_nobody_anything(house: House) -> None:
    with house.db.write() as tx:
        tx.execute(sa.delete(carrier_money))
    link = await house.submitted()
    link.answer(*link.open.values())
    await link.turn.run_once()
    with house.db.write() as tx:
        tx.execute(sa.update(messages).values(sandbox=True))
    assert counted(house) == []


@given(
    credits=st.integers(0, 10_000),
    segments=st.integers(1, 10),
    refused=st.integers(0, 1_023),
    owners=st.lists(st.integers(0, 2), min_size=10, max_size=10),
)
def test_the_shares_of_segments_are_the_credits_of_the_message(
    credits: int, segments: int, refused: int, owners: list[int]
) -> None:
    paid = all_parts(segments) & ~refused
    parts = [
        sum(1 << bit for bit in range(segments) if paid >> bit & 1 and owners[bit] == owner)
        for owner in range(3)
    ]
    shares = [credits_of(credits, paid, each) for each in parts]
    assert min(shares) >= 0
    assert sum(shares) == (credits if paid else 0)
