"""Whatever a restored copy has queued, on the wire, in doubt, or in campaigns waits for an
operator's word.
"""

import asyncio
from typing import Any

import pytest

from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.campaigns.tables import campaigns
from heliograph.carriers import SubmitOutcome
from heliograph.messages.sweeps import fail_expired
from heliograph.messages.tables import inflight, queue
from tests.support.capability.campaigning import LOOKS_MAX, Running, sent
from tests.support.capability.campaigns import now, write_down
from tests.support.capability.commands import CommandResult, Run
from tests.support.capability.sending import House, only_worker
from tests.support.factories import awaited, open_account, phones

HOUR_MS = 3_600_000


async def later(run: Run, *words: object) -> CommandResult:
    return await asyncio.to_thread(run, *words)


async def check(run: Run, *words: object) -> Any:
    """Returns what `heliograph restore-check …` says."""
    return (await later(run, "restore-check", *words, "--json")).json


async def goes_out(house: House, window: int = 100) -> int:
    """Returns how many segments the carrier is given now, which takes them. None of them goes out
    twice.
    """
    only_worker(house.db, 9)
    link = house.turn(window, worker=9)
    for _ in range(LOOKS_MAX):
        await link.turn.run_once()
        if not link.open:
            break
        link.answer(*link.open.values())
    await link.turn.run_once()
    return len(link.submitted)


@awaited
async def test_what_is_queued_on_the_wire_and_in_doubt_is_kept_and_goes_out_when_it_is_said(
    house: House, run: Run
) -> None:
    link = await house.submitted(
        phones(3), "a" * 200
    )  # two segments each; of the first message one is accepted, of the second one in doubt
    first, _, second, *_ = link.open.values()
    link.answer(first)
    link.answer(second, outcome=SubmitOutcome.UNANSWERED)
    link.turn.claiming = False
    await link.turn.run_once()
    await house.send(phones(2, first=100))
    assert (house.count(inflight), house.count(queue)) == (5, 1)
    found = await check(run, "--since", rfc3339(clock.now_ms()))
    [row] = found["kept"]
    assert (row["carrier"], row["type"], row["mode"], row["messages"], row["segments"]) == (
        "carrier",
        "sms",
        "live",
        5,
        8,
    )
    assert (house.count(inflight), await goes_out(house)) == (0, 0)
    assert (await check(run))["kept"] == found["kept"]
    assert await check(run, "--since", rfc3339(clock.now_ms())) == found, "it is safe to repeat"
    assert await check(run, "send") == {"sent": 5, "kept": 0}
    assert await goes_out(house) == 7  # what was accepted in the copy is not sent again
    assert house.statuses() == ["sent"] * 5
    house.assert_sound()


@awaited
async def test_what_is_canceled_has_failed_and_is_paid_back_and_one_can_choose(
    house: House, run: Run
) -> None:
    bilal = open_account(house.db, "bilal", credits=10)
    link = await house.submitted(text="a" * 200)
    link.answer(next(iter(link.open.values())))
    link.turn.claiming = False
    await link.turn.run_once()
    await house.send(account_id=bilal)
    await check(run, "--since", rfc3339(clock.now_ms()))
    credits = house.credits()
    assert await check(run, "cancel", "--account", "amina", "--carrier", "carrier") == {
        "canceled": 1,
        "kept": 1,
    }
    assert (house.statuses(), house.credits()) == (
        ["failed/canceled", "queued"],
        credits + 1,
    )  # one of its two segments was accepted
    assert (await later(run, "restore-check", "cancel", "--carrier", "nobody")).status == 1
    assert await check(run, "cancel", "--account", "bilal") == {"canceled": 1, "kept": 0}
    house.assert_sound()


@awaited
async def test_validity_ends_where_it_is_kept(house: House, run: Run) -> None:
    await house.send(validity_s=60)
    await check(run, "--since", rfc3339(clock.now_ms()))
    clock.move(by_ms=61_000)
    assert await fail_expired(house.db, clock.now_ms()) == 1
    assert (house.statuses(), (await check(run))["kept"]) == (["failed/expired"], [])


@awaited
async def test_what_was_accepted_later_is_let_go_only_if_that_was_after_the_restore(
    house: House, run: Run
) -> None:
    await house.send()
    since = rfc3339(clock.now_ms())
    clock.move(by_ms=5_000)
    await house.send()
    refused = await later(run, "restore-check", "--since", since)
    assert (refused.status, "--leave-later" in refused.err, "--since must be " in refused.err) == (
        2,
        True,
        True,
    )
    assert (await check(run))["kept"] == []
    [row] = (await check(run, "--since", since, "--leave-later"))["kept"]
    assert (row["messages"], await goes_out(house)) == (1, 1)


@pytest.mark.parametrize(
    "words",
    [
        ["send", "--since", "1h"],
        ["--leave-later"],
        ["--account", "amina"],
        ["--since", "2999-01-01"],
        ["both"],
    ],
)
def test_what_makes_no_sense_is_refused(house: House, run: Run, words: list[str]) -> None:
    assert run("restore-check", *words).status in (1, 2)


@awaited
async def test_a_campaign_stands_still_and_its_queue_is_kept_beside_its_pause(
    house: House, run: Run
) -> None:
    made = await sent(house, 30)
    found = await check(run, "--since", rfc3339(clock.now_ms()))
    assert [campaign["status"] for campaign in found["campaigns"]] == ["paused"]
    for _ in range(3):
        await made.look()  # the pause holds what is not kept: nothing
    assert await check(run, "send") == {"sent": 30, "kept": 0}
    assert (made.runs(), await goes_out(house)) == ((0, 30), 0), "the campaign is paused still"
    made.decide("resume")
    await made.looks(30, 0)
    assert await goes_out(house) == 30
    house.assert_sound()


@awaited
async def test_a_campaign_that_is_resumed_first_lets_nothing_go_that_is_kept(
    house: House, run: Run
) -> None:
    made = await sent(house, 30)
    made.decide("pause")
    await made.looks(0, 30)
    assert (await check(run, "--since", rfc3339(clock.now_ms())))["campaigns"] == []
    made.decide("resume")
    for _ in range(3):
        await made.look()
    assert await goes_out(house) == 0
    assert await check(run, "send") == {"sent": 30, "kept": 0}
    assert await goes_out(house) == 30


@awaited
async def test_what_would_go_on_or_begin_by_itself_does_not(house: House, run: Run) -> None:
    waits, due = Running(house, 3).campaign, write_down(house.db, house.amina_id)
    with house.db.write() as tx:
        for campaign, columns in (
            (waits, {"status": "paused", "status_reason": "insufficient_credits"}),
            (due, {"status": "scheduled", "scheduled_at_ms": clock.now_ms() - HOUR_MS}),
        ):
            tx.execute(campaigns.update().where(campaigns.c.id == campaign.id).values(**columns))
    await check(run, "--since", rfc3339(clock.now_ms()))
    assert [
        (row.status, row.status_reason) for row in (now(house.db, waits), now(house.db, due))
    ] == [
        ("paused", "paused_by_operator"),
        ("draft", None),
    ]
