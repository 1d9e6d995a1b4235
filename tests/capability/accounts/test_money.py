"""Money on the way out is charged, refused and paid back, at once and under load. The ledger proves
it each time.
"""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.engine import Connection

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits, ServiceError
from heliograph.carriers import SubmitOutcome, current_rates
from heliograph.messages.sweeps import fail_expired
from heliograph.wallet import ledger
from tests.support.books import assert_books_agree
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited, open_account, phones, send_request


@awaited
async def test_a_send_that_costs_more_than_the_wallet_holds_charges_nothing(house: House) -> None:
    poor = open_account(house.db, "poor", credits=1)
    refused = await house.tried(text="a" * 161, account_id=poor)  # 2 segments
    assert isinstance(refused, InsufficientCredits)
    assert refused.extra == {"required": 2, "available": 1}
    assert (house.credits(poor), house.sends()) == (1, 0)
    await house.send(account_id=poor)
    assert house.credits(poor) == 0
    house.assert_sound()


@awaited
async def test_a_price_is_segments_times_the_rate_of_each_destination(house: House) -> None:
    with house.db.write() as tx:
        current_rates.store(tx, "GH", 2)
        current_rates.store(tx, "KE", 5, account_id=house.amina_id)
    accepted = await house.send([PHONE, "254712345678", "2348021234567"], "x" * 161)
    assert (accepted.send.segments, accepted.send.credits_required) == (2, 2 * (2 + 5 + 1))
    assert [row.credits for row in house.messages()] == [4, 10, 2]
    assert house.entries("sms_charge") == [-16]


@awaited
async def test_of_a_dear_message_only_the_unaccepted_segments_are_paid_back(house: House) -> None:
    with house.db.write() as tx:
        current_rates.store(tx, "GH", 3)
    link = await house.submitted(text="x" * 400)
    one, two, three = link.submitted
    link.answer(one, three)
    link.answer(two, outcome=SubmitOutcome.REFUSED)
    await link.turn.run_once()
    assert (house.credits(), house.entries("sms_refund")) == (994, [3])
    house.assert_sound()


@awaited
async def test_refunds_of_a_turn_are_one_entry_a_send(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=100)
    link = house.turn()
    await house.send(phones(5))
    await house.send(phones(3, first=10))
    await house.send(phones(2, first=20), account_id=chidi)
    await link.turn.run_once()
    link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED)
    await link.turn.run_once()
    assert sorted(house.entries("sms_refund")) == [2, 3, 5]
    assert (house.credits(), house.credits(chidi)) == (1_000, 100)
    house.assert_sound()


@awaited
async def test_a_refund_arms_the_alarm_again_that_a_charge_had_fired(house: House) -> None:
    def armed() -> bool:
        with house.db.read() as tx:
            return wallet.wallet_of(tx, house.amina_id).credits_alarm_armed

    link = await house.submitted(phones(900))
    assert armed()  # 100 are left, which is not below 100
    await house.send()
    assert not armed()
    while link.open:
        link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED)
        await link.turn.run_once()
    assert armed()
    house.assert_sound()


@awaited
async def test_charges_refunds_and_the_operators_commands_at_once_lose_nothing(
    house: House,
) -> None:
    """Sends and turns run in the event loop, and grants and corrections run in threads beside it.
    All of them use one wallet.
    """

    def operate(k: int) -> None:
        def effect(tx: Connection) -> None:
            change = ledger.grant if k % 2 else ledger.adjust_credits
            change(tx, house.amina_id, 7 if k % 2 else -3, "at once", now_ms=clock.now_ms())

        house.db.transact(effect)

    link = house.turn(window=50)
    accepted: list[object] = []

    async def send(k: int) -> None:
        accepted.append(await house.tried(phones(1 + k % 3, first=10 * k)))

    async def turn() -> None:
        for k in range(30):
            await link.turn.run_once()
            link.answer(
                *link.open.values(),
                outcome=(SubmitOutcome.ACCEPTED, SubmitOutcome.REFUSED, SubmitOutcome.THROTTLED)[
                    k % 3
                ],
            )

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(4) as threads:
        await asyncio.gather(
            turn(),
            *(send(k) for k in range(60)),
            *(loop.run_in_executor(threads, operate, k) for k in range(40)),
        )
    await link.turn.run_once()
    assert not any(isinstance(result, ServiceError) for result in accepted)
    assert house.credits() == 1_000 + 20 * 7 - 20 * 3 + sum(house.entries("sms_charge")) + sum(
        house.entries("sms_refund")
    )
    house.assert_sound()


@awaited
async def test_sends_of_many_accounts_in_one_batch_are_charged_to_each(house: House) -> None:
    others = [open_account(house.db, f"account {k}", credits=5) for k in range(20)]
    await house.cache.refresh()
    results = await asyncio.gather(
        *(house.acceptor.accept(send_request(account_id, phones(3))) for account_id in others * 2),
        return_exceptions=True,
    )
    assert Counter(type(result) for result in results)[InsufficientCredits] == 20
    assert [house.credits(account_id) for account_id in others] == [2] * 20
    house.assert_sound()


@awaited
async def test_the_ledger_lists_a_refund_behind_the_charge_that_came_while_it_waited_for_the_wallet(
    house: House,
) -> None:
    await house.send(phones(3), validity_s=60)
    clock.move(by_ms=61_000)
    begun_ms = clock.now_ms()
    clock.move(by_ms=1_000)
    await house.send(phones(2, first=10))
    await fail_expired(house.db, begun_ms)
    assert house.entries("sms_refund") == [3]
    assert_books_agree(house.db)
