"""The queue stays fair through a restart, fail-over and failed transactions, and to
accounts of every habit.
"""

import asyncio
from collections import Counter
from typing import Any

import pytest

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.carriers import routing
from heliograph.messages.accept import Acceptor
from heliograph.messages.queue import FairQueue, account_ends
from heliograph.messages.queue.rank import HEADS_KEPT_S
from heliograph.messages.sweeps import fail_over
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import (
    awaited,
    open_account,
    open_carrier,
    open_route,
    phones,
    send_request,
)

HEADS_ARE_OLD_MS = int(HEADS_KEPT_S * 1_000) + 10
CHIDIS = 500_000  # his numbers begin here


def whose(recipients: list[str]) -> list[str]:
    return [
        "chidi" if int(recipient) >= 233_200_000_000 + CHIDIS else "amina"
        for recipient in recipients
    ]


async def served(link: ScriptedLink, turns: int) -> list[str]:
    """Returns the recipients that so many turns send to."""
    before = len(link.submitted)
    for _ in range(turns):
        await link.turn.run_once()
        link.answer(*link.open.values())
    return [submission.recipient for submission in link.submitted[before:]]


async def send_later(house: House, *args: Any, **more: Any) -> None:
    """Sends when the heads that were read last are old."""
    clock.move(by_ms=HEADS_ARE_OLD_MS)
    await house.send(*args, **more)


@awaited
async def test_newcomers_go_before_what_waits_in_the_order_in_which_they_came(house: House) -> None:
    await house.send(phones(500))
    link = house.turn(window=1)
    await served(link, 3)
    newcomers = phones(6, first=CHIDIS)
    for k, phone in enumerate(newcomers):
        account_id = open_account(house.db, f"newcomer {k}", credits=1)
        await send_later(house, phone, account_id=account_id)
    assert await served(link, 6) == newcomers


@awaited
async def test_who_sends_little_and_often_has_half_of_the_carrier_and_no_more(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    await house.send(phones(500))
    link = house.turn(window=1)
    sent = []
    for k in range(30):
        await send_later(house, phones(1, first=CHIDIS + k), account_id=chidi)
        sent += await served(link, 1)
    assert 14 <= Counter(whose(sent))["chidi"] <= 16
    assert [phone for phone in sent if whose([phone]) == ["chidi"]] == phones(
        Counter(whose(sent))["chidi"], first=CHIDIS
    )


@awaited
async def test_who_sends_long_messages_has_no_more_of_the_carrier(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    for k in range(20):
        await house.send(phones(5, first=5 * k), "x" * 1_000)  # 7 segments
    await house.send(phones(400, first=CHIDIS), account_id=chidi)
    link = house.turn(window=14)
    shares = Counter(whose(await served(link, 20)))
    assert abs(shares["chidi"] - shares["amina"]) <= 14


@awaited
async def test_who_waits_before_a_restart_gets_no_second_place_after_it(house: House) -> None:
    chidi = open_account(house.db, "chidi", credits=1_000)
    await house.send(phones(300))
    link = house.turn(window=1)
    await served(link, 5)
    house.queue = FairQueue()
    house.queue.resume(account_ends(house.db))
    house.acceptor = Acceptor(house.db, house.cache, house.woken.append, house.queue)
    await house.send(phones(100, first=1_000))
    await send_later(house, phones(60, first=CHIDIS), account_id=chidi)
    sent = await served(link, 100)
    assert 49 <= Counter(whose(sent))["chidi"] <= 51
    assert [phone for phone in sent if whose([phone]) == ["amina"]] == phones(
        Counter(whose(sent))["amina"], first=5
    ), "her own keep their order"


@pytest.mark.parametrize("behind", [True, False], ids=["its time is behind", "its time is ahead"])
@awaited
async def test_what_fails_over_takes_turns_with_what_waits_there(
    house: House, behind: bool
) -> None:
    """Virtual time is a carrier's own: of the two, either may be minutes ahead."""
    chidi, eve = (open_account(house.db, name, credits=1_000) for name in ("chidi", "eve"))
    second = open_carrier(house.db, "second", prefix="2332")
    if not behind:
        clock.move(by_ms=600_000)
    await house.send(phones(300, first=CHIDIS), account_id=chidi)
    if behind:
        clock.move(by_ms=600_000)
    open_route(house.db, "carrier", prefix="2332")
    await house.send(phones(300))
    open_route(house.db, "carrier", "second", prefix="2332")
    with house.db.read() as tx:
        routes = routing.Routes(routing.load_routes(tx))
    assert (
        await fail_over(
            house.db, routes, frozenset({house.carrier_id}), house.queue, clock.now_ms()
        )
        == 1
    )
    link = house.turn(window=1, carrier_id=second)
    shares = Counter(whose(await served(link, 100)))
    assert 49 <= shares["chidi"] <= 51
    open_route(house.db, "second", prefix="2332")
    await send_later(house, phones(1, first=900_000), account_id=eve)
    assert phones(1, first=900_000)[0] in await served(link, 2)


@awaited
async def test_sends_that_could_not_be_stored_cost_an_account_no_turn(house: House) -> None:
    chidi, eve = (open_account(house.db, name, credits=1_000) for name in ("chidi", "eve"))
    await house.send(phones(300, first=CHIDIS), account_id=chidi)
    await house.cache.refresh()
    house.db.fates = ["lost"] * 4
    with pytest.raises(Unavailable):
        await asyncio.gather(house.acceptor.accept(send_request(eve, phones(500))))
    await house.send(phones(100), account_id=eve)
    shares = Counter(whose(await served(house.turn(window=1), 100)))
    assert 49 <= shares["chidi"] <= 51
