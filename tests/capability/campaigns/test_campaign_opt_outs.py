"""Whoever opts out while a campaign is under way gets nothing more of it, wherever his text is; who
did not opt out gets his.
"""

import asyncio

import psycopg
import pytest

from heliograph import campaigns, contacts
from heliograph.audit.audit import audit
from heliograph.base import clock
from heliograph.campaigns.advance import Advancer
from heliograph.carriers import SubmitOutcome
from heliograph.contacts import ContactOwner, ContactPatch
from heliograph.messages.accept import Chunker
from heliograph.messages.groups import GroupTally
from heliograph.messages.sweeps import settle_doubts
from heliograph.messages.tables import queue
from heliograph.opt_outs.tables import opt_outs
from heliograph.text import Phone
from heliograph.wallet import ledger
from tests.support.capability.campaigning import Running
from tests.support.capability.campaigns import add_contacts, now, write_down, written
from tests.support.capability.sending import House
from tests.support.factories import awaited, phones


def opts(house: House, *places: int, out: bool = True) -> None:
    with house.db.write() as tx:
        contacts.upsert(
            tx,
            ContactOwner(house.amina_id, False),
            [
                ContactPatch(Phone(phones(1, first=place)[0], "GH"), {"opted_out": out})
                for place in places
            ],
            by=contacts.OPERATOR,
            now_ms=clock.now_ms(),
        )


def changes_phone(house: House, place: int) -> None:
    """Changes a contact's phone to one that nobody has."""
    owner = ContactOwner(house.amina_id, False)
    with house.db.write() as tx:
        contact = contacts.by_phone(tx, owner, phones(1, first=place)[0])
        assert contact is not None
        contacts.update(
            tx,
            owner,
            contacts.text_id(contact),
            ContactPatch(Phone("233209999999", "GH")),
            by=contacts.OPERATOR,
            now_ms=clock.now_ms(),
        )


def is_removed(house: House, place: int) -> None:
    owner = ContactOwner(house.amina_id, False)
    with house.db.write() as tx:
        contact = contacts.by_phone(tx, owner, phones(1, first=place)[0])
        assert contact is not None
        contacts.delete(tx, owner, contacts.text_id(contact))


def reached(running: Running) -> set[int]:
    """Returns for whom the carrier was given a text."""
    return {int(submission.recipient) - int(phones(1)[0]) for submission in running.link.submitted}


@pytest.mark.parametrize("message", ["Hello", "Hello {phone}"])
@pytest.mark.parametrize("held", [False, True])
@awaited
async def test_wherever_the_text_is_it_is_taken_back_and_paid_back(
    house: House, held: bool, message: str
) -> None:
    running = Running(house, 25, ahead=10, message=message)
    await running.look()
    if held:
        with house.db.write() as tx:
            campaigns.pause(tx, running.campaign.id)
        await running.look()
    opts(house, 0, 3, 4, 9, 12, 20, 24)
    is_removed(house, 12)
    changes_phone(house, 24)
    await running.look()
    assert running.tally() == GroupTally(queued=6, failed=4, segments=10, credits=6)
    if held:
        assert house.count(queue, queue.c.rank_us < 10**17) == 0
        with house.db.write() as tx:
            campaigns.resume(tx, running.campaign.id)
    for _ in range(4):
        await running.look()
        await running.send()
    await running.look()
    row = now(house.db, running.campaign)
    assert reached(running) == set(range(25)) - {0, 3, 4, 9, 12, 20, 24}
    assert (row.status, row.opted_out, running.tally()) == (
        "completed",
        3,
        GroupTally(delivered=18, failed=4, segments=22, credits=18),
    )
    assert house.credits() == 1_000 - 18
    assert {row.error_code for row in house.messages() if row.status == "failed"} == {"blocked"}
    assert house.count(opt_outs) == 0
    house.assert_sound()
    with house.db.read() as tx:
        assert audit(tx).is_clean


@awaited
async def test_a_paused_one_completes_when_the_last_whose_text_is_held_has_opted_out(
    house: House,
) -> None:
    running = Running(house, 3)
    await running.look()
    with house.db.write() as tx:
        campaigns.pause(tx, running.campaign.id)
    await running.look()
    opts(house, 0, 1)
    await running.look()
    await running.look()
    assert running.state()[0] == "paused"
    opts(house, 2)
    await running.look()
    await running.look()
    assert (running.state(), running.tally()) == (
        ("completed", None),
        GroupTally(failed=3, segments=3),
    )
    assert house.credits() == 1_000


@awaited
async def test_with_nobody_left_it_completes_though_it_waits_for_credits(house: House) -> None:
    running = Running(house, 8)
    running.holds(5)
    await running.look()
    await running.send()
    assert running.state() == ("paused", "insufficient_credits")
    opts(house, 5, 7)
    await running.look()
    await running.look()
    assert running.state() == ("paused", "insufficient_credits")
    opts(house, 6)
    await running.look()
    await running.look()
    assert running.state() == ("completed", None)
    assert now(house.db, running.campaign).opted_out == 3


@awaited
async def test_what_a_carrier_has_goes_on_and_what_it_gives_back_is_not_tried_again(
    house: House,
) -> None:
    running = Running(house, 4)
    await running.look()
    running.link.window = 3
    await running.link.turn.run_once()
    opts(house, 0, 1, 2)
    await running.look()
    assert (house.count(opt_outs), set(house.statuses())) == (3, {"queued"}), (
        "they are remembered while a carrier has something for them"
    )
    for submission, outcome in zip(
        list(running.link.open.values()),
        (SubmitOutcome.ACCEPTED, SubmitOutcome.THROTTLED, SubmitOutcome.UNANSWERED),
        strict=True,
    ):
        running.link.answer(submission, outcome=outcome)
    await running.link.turn.run_once()
    clock.move(by_ms=121_000)
    try:
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=False) == 0
        assert house.statuses() == ["sent", "failed/blocked", "queued", "queued"], (
            "what it gives back does not wait for a look"
        )
        assert await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=True) == 1
        await running.look()
        await running.send()
        assert house.statuses() == ["sent", "failed/blocked", "failed/blocked", "delivered"], (
            "what was in doubt is not sent once more"
        )
        assert (len(running.link.submitted), house.count(opt_outs), house.credits()) == (
            4,
            0,
            1_000 - 2,
        )
    finally:
        clock.move(by_ms=-121_000)
    house.assert_sound()


@awaited
async def test_what_a_turn_is_just_taking_is_looked_at_again(postgresql_house: House) -> None:
    """Its run is locked: whether the text is handed over, or waits in what is left of the
    run, is seen when the turn has ended.
    """
    house = postgresql_house
    running = Running(house, 5)
    await running.look()
    opts(house, 4)
    with psycopg.connect(house.db.url) as turn:
        turn.execute("SELECT first_id FROM queue FOR UPDATE")
        await running.look()
        assert (set(house.statuses()), house.count(opt_outs)) == ({"queued"}, 1)
    clock.move(by_ms=1_000)
    try:
        await running.look()
    finally:
        clock.move(by_ms=-1_000)
    assert (house.statuses(), house.count(opt_outs)) == (["queued"] * 4 + ["failed/blocked"], 0)


@awaited
async def test_who_opts_out_while_the_audience_is_frozen_is_no_part_of_it_though_he_is_gone_then(
    house: House,
) -> None:
    """He was read already when he opted out."""
    with house.db.write() as tx:
        ledger.grant(tx, house.amina_id, 10, "enough", now_ms=clock.now_ms())
    add_contacts(house.db, house.amina_id, phones(3))
    advancer = Advancer(house.db, Chunker(house.cache, house.queue), house.woken.append)
    draft = write_down(house.db, house.amina_id)
    loop = asyncio.get_running_loop()

    def goes(people: int) -> None:
        opts(house, 1)
        is_removed(house, 1)
        asyncio.run_coroutine_threadsafe(advancer.once(), loop).result(10)

    await asyncio.to_thread(lambda: campaigns.launch(house.db, draft.id, tell=goes))
    assert len(written(house.db, draft)) == 3
    clock.move(by_ms=1_000)
    try:
        await house.cache.refresh()
        await advancer.once()
    finally:
        clock.move(by_ms=-1_000)
    assert [message.recipient for message in house.messages()] == [
        int(phones(3)[0]),
        int(phones(3)[2]),
    ]
    row = now(house.db, draft)
    assert (row.recipients_total, row.opted_out, house.count(opt_outs)) == (3, 1, 0)


@awaited
async def test_who_opts_in_again_at_once_gets_it(house: House) -> None:
    running = Running(house, 3)
    await running.look()
    opts(house, 1)
    opts(house, 1, out=False)
    await running.look()
    assert set(house.statuses()) == {"queued"}


@awaited
async def test_a_look_ends_in_time_and_the_next_one_goes_on_with_whose_turn_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.campaigns.advance.EXPAND_S", 0.0)
    running = Running(house, 25, chunk=10)
    other = campaigns.launch(house.db, write_down(house.db, house.amina_id).id).campaign
    figures = []
    for _ in range(5):
        await running.look()
        figures.append((running.tally().queued, len(house.messages()) - running.tally().queued))
    assert figures == [(10, 0), (10, 10), (20, 10), (20, 20), (25, 20)]
    assert not now(house.db, other).expanded
