"""The queue is fair: nobody waits behind what another account has queued, on fast carriers
and on slow ones.
"""

from collections import Counter

from heliograph.base import clock
from heliograph.carriers import SubmitOutcome, current_rates
from heliograph.messages.queue import count_waiting
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, awaited, open_account, open_carrier, phones

CHIDIS = "233240000001"


async def turns(link: ScriptedLink, count: int) -> None:
    for _ in range(count):
        await link.turn.run_once()
        link.answer(*link.open.values())


def free_of_charge(house: House) -> None:
    with house.db.write() as tx:
        current_rates.store(tx, "default", 0)


@awaited
async def test_a_single_send_is_next_though_another_account_has_a_hundred_thousand_waiting(
    house: House,
) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    free_of_charge(house)
    for k in range(10):
        await house.send(phones(10_000, first=10_000 * k))
    link = house.turn(window=100)
    await turns(link, 5)
    await house.send(CHIDIS, account_id=chidi)
    await link.turn.run_once()
    assert CHIDIS in [s.recipient for s in link.submitted[-100:]]


@awaited
async def test_so_it_is_on_a_slow_carrier_whose_queue_is_minutes_behind(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    for k in range(90):  # one by one, as an API's clients send
        await house.send(phones(1, first=k))
    await house.send(phones(800, first=100))
    link = house.turn(window=10)
    for k in range(5):
        clock.move(by_ms=60_000)
        await turns(link, 1)
        await house.send(str(int(CHIDIS) + k), account_id=chidi)
        await turns(link, 1)
        assert link.submitted[-10].recipient == str(int(CHIDIS) + k)


@awaited
async def test_who_has_sent_much_and_has_nothing_waiting_owes_nothing(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    free_of_charge(house)
    await house.send(phones(10_000))
    link = house.turn(window=1_000)
    await turns(link, 11)
    clock.move(by_ms=200)
    await house.send(phones(5_000, first=20_000), account_id=chidi)
    await turns(link, 1)
    await house.send(PHONE)
    await turns(link, 1)
    assert PHONE in [s.recipient for s in link.submitted[-1_000:]]


@awaited
async def test_accounts_that_wait_for_one_carrier_share_it_evenly(house: House) -> None:
    others = [open_account(house.db, name, credits=1_000) for name in ("bilal", "chidi")]
    for account_id, first in zip((house.amina_id, *others), (0, 10_000, 20_000), strict=True):
        await house.send(phones(600, first=first), account_id=account_id)
    link = house.turn(window=60)
    await turns(link, 10)
    shares = Counter(int(s.recipient) % 100_000 // 10_000 for s in link.submitted)
    assert len(link.submitted) == 600
    assert max(shares.values()) - min(shares.values()) <= 60, shares


@awaited
async def test_what_an_account_does_on_one_carrier_costs_it_nothing_on_another(
    house: House,
) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    free_of_charge(house)
    slow = house.turn(window=10, carrier_id=open_carrier(house.db, "slow", prefix="254"))
    await house.send([f"2547{k:08d}" for k in range(5_000)], account_id=chidi)
    await turns(slow, 1)
    clock.move(by_ms=300_000)
    await house.send(phones(10_000))  # by the fast one
    await house.send("254799999999")
    await turns(slow, 1)
    assert slow.submitted[-10].recipient == "254799999999"


@awaited
async def test_otps_and_what_comes_back_go_before_all_bulk(house: House) -> None:
    link = await house.submitted(phones(5), window=5)
    await house.send(phones(50, first=100))
    link.answer(*link.open.values(), outcome=SubmitOutcome.THROTTLED)
    await link.turn.run_once()
    link.answer(*link.open.values())
    clock.move(by_ms=1_000)
    await house.send(PHONE, kind="otp")
    link.window = 6
    await link.turn.run_once()
    assert [s.recipient for s in link.submitted[-6:]] == [*phones(5), PHONE]


@awaited
async def test_what_waits_is_counted_with_its_age(house: House) -> None:
    await house.send(phones(3))
    clock.move(by_ms=5_000)
    await house.send(phones(2, first=10))
    (waiting,) = (await count_waiting(house.db, clock.now_ms())).values()
    assert (waiting.messages, waiting.bulk.messages, waiting.ahead.messages) == (5, 5, 0)
    assert 5 <= waiting.oldest_s < 7
