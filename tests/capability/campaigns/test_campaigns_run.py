"""A campaign is sent by the jobs that look after it and the carrier's own turn. The tests ask whom
it reaches, what it costs, and why it stops and goes on.
"""

import json

import pytest
import sqlalchemy as sa

from heliograph import accounts, campaigns, senders
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits
from heliograph.base.paging import PageWanted
from heliograph.campaigns.campaign_record import as_record
from heliograph.campaigns.lifecycle import NoRecipients
from heliograph.campaigns.template import TEMPLATE_CHARACTERS_MAX
from heliograph.carriers import current_rates
from heliograph.database import config
from heliograph.messages.groups import GroupTally
from heliograph.messages.read.message import as_record as message_record
from heliograph.messages.read.report_page import Filters, report
from heliograph.messages.tables import messages, queue
from heliograph.senders.tables import senders as sender_table
from heliograph.wallet.tables import ledger_entries
from tests.support.capability.campaigning import Running
from tests.support.capability.campaigns import add_contacts, now, set_opted_out, write_down
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import awaited, phones

DAY_MS = 86_400_000


@awaited
async def test_it_reaches_everybody_by_chunks_of_one_entry_each_and_its_end_is_told(
    house: House,
) -> None:
    endpoint(house.db, house.amina_id, kinds=["campaign.completed"])
    running = Running(
        house,
        25,
        message="Hello"
        + "{phone|"
        + "\N{PERSONAL COMPUTER}" * (TEMPLATE_CHARACTERS_MAX - 13)
        + "}",
    )
    await running.look()
    assert running.tally() == GroupTally(queued=25, segments=25, credits=25)
    assert house.woken
    assert house.entries("sms_charge") == [-10, -10, -5]
    with house.db.read() as tx:
        references = set(
            tx.execute(
                sa.select(ledger_entries.c.reference).where(ledger_entries.c.type == "sms_charge")
            ).scalars()
        )
    assert references == {campaigns.text_id(running.campaign)}
    await running.look()
    assert running.state() == ("sending", None), "it is queued still"
    await running.send()
    await running.look()
    assert running.state() == ("completed", None)
    await running.look()
    [told] = events(house.db)
    # docs/api.md, "Events and webhooks"
    assert len(json.dumps(told, ensure_ascii=False).encode()) < 20_000
    assert told["data"] == as_record(now(house.db, running.campaign), running.tally())
    assert told["data"]["statistics"]["delivery_rate"] == 1
    with house.db.read() as tx:
        page = report(
            tx,
            house.amina_id,
            PageWanted(100, None),
            Filters(group_id=running.campaign.group_id),
            sandbox=False,
        )
    assert len(page.messages) == 25
    assert {message_record(message)["campaign_id"] for message in page.messages} == references
    house.assert_sound()


@awaited
async def test_who_opts_out_or_can_be_sent_to_no_more_is_left_out_and_counted(house: House) -> None:
    running = Running(house, 25, ahead=10)
    await running.look()
    with house.db.write() as tx:
        set_opted_out(tx, house.amina_id, {int(phone): True for phone in phones(5, first=8)})
    await running.send()
    await running.look()
    running.change(countries=["NG"])
    await running.send()
    await running.look()
    await running.look()
    row = now(house.db, running.campaign)
    assert (
        row.status,
        row.recipients_total,
        row.opted_out,
        row.refused,
        running.tally().delivered,
    ) == ("completed", 25, 3, 2, 20)
    assert house.credits() == 1_000 - 20


@awaited
async def test_it_waits_for_credits_and_goes_on_by_itself_as_far_as_those_reach_that_come(
    house: House,
) -> None:
    running = Running(house, 25)
    running.holds(13)
    await running.look()
    assert running.state() == ("paused", "insufficient_credits")
    assert (running.tally().queued, house.credits()) == (13, 0)
    for more, queued, state in (
        (5, 18, ("paused", "insufficient_credits")),
        (100, 25, ("sending", None)),
    ):
        running.holds(more)
        await running.look()
        await running.look()
        assert (running.tally().queued, running.state()) == (queued, state)


@awaited
async def test_it_waits_until_the_next_recipient_can_be_paid(house: House) -> None:
    """It does not go on and stop again meanwhile: the others may have cost less."""
    with house.db.write() as tx:
        current_rates.store(tx, "23320000002", 100)
        config.bump(tx)
    running = Running(house, 25)
    running.holds(90)
    await running.look()
    for _ in range(2):
        await running.look()
        assert running.state() == ("paused", "insufficient_credits")
    assert (running.tally().queued, house.credits()) == (20, 70)
    running.holds(5 * 100)
    await running.look()
    await running.look()
    assert (running.tally().queued, house.credits()) == (25, 0)


@awaited
async def test_an_operator_can_hold_what_waits_for_credits(house: House) -> None:
    running = Running(house, 25)
    running.holds(13)
    await running.look()
    with house.db.write() as tx:
        campaigns.pause(tx, running.campaign.id)
    running.holds(100)
    for _ in range(2):
        await running.look()
    assert (running.state(), running.tally().queued) == (("paused", "paused_by_operator"), 13)
    with house.db.write() as tx:
        campaigns.resume(tx, running.campaign.id)
    await running.look()
    assert running.tally().queued == 25


@awaited
async def test_a_launch_that_is_refused_leaves_no_permission_behind(house: House) -> None:
    draft = write_down(house.db, house.amina_id)
    with pytest.raises(NoRecipients):
        campaigns.launch(house.db, draft.id, as_far_as_credits_reach=True)
    assert now(house.db, draft) == draft._replace(freezing=now(house.db, draft).freezing)
    add_contacts(house.db, house.amina_id, phones(1_001))
    with pytest.raises(InsufficientCredits):
        campaigns.launch(house.db, draft.id)


@awaited
async def test_the_daily_cap_holds_it_until_tomorrow(house: House) -> None:
    running = Running(house, 25)
    running.change(daily_credits=10)
    try:
        for queued in (10, 20, 25):
            for _ in range(2):
                await running.look()
            assert running.tally().queued == queued
            assert running.state() == (
                ("paused", "daily_cap_reached") if queued < 25 else ("sending", None)
            )
            clock.move(by_ms=DAY_MS)
    finally:
        clock.move(by_ms=-3 * DAY_MS)


@awaited
async def test_a_suspended_account_or_sender_stops_it_until_somebody_resumes_it(
    house: House,
) -> None:
    running = Running(house, 25, ahead=5)
    with house.db.write() as tx:
        accounts.suspend(tx, house.amina_id)
    await running.look()
    assert running.state() == ("paused", "account_suspended")
    with house.db.write() as tx:
        accounts.resume(tx, house.amina_id)
        campaigns.resume(tx, running.campaign.id)
        sender_id = tx.execute(sa.select(sender_table.c.id)).scalar_one()
        senders.suspend(tx, sender_id, "a complaint", now_ms=clock.now_ms())
    await running.look()
    assert running.state() == ("paused", "sender_not_approved")
    assert running.tally().queued == 0


@awaited
async def test_no_more_is_queued_ahead_than_may_be(house: House) -> None:
    running = Running(house, 25, ahead=7)
    for sent in (0, 7, 14, 21):
        await running.look()
        await running.look()
        assert running.tally().queued == min(7, 25 - sent)
        await running.send()


@awaited
async def test_its_rate_is_kept_from_the_first_moment(house: House) -> None:
    running = Running(house, 100, rate=10)
    began_s = clock.monotonic_s()
    for _ in range(20):
        await running.look()
        assert running.tally().queued <= 5 + 10 * (clock.monotonic_s() - began_s)
    assert running.tally().queued >= 5


@awaited
async def test_what_is_queued_of_a_canceled_one_is_paid_back_and_what_a_carrier_has_goes_on(
    house: House,
) -> None:
    running = Running(house, 40, message="x" * 161, ahead=20)
    running.link.window = 10
    await running.look()
    await running.link.turn.run_once()
    assert len(running.link.open) == 10, "five of two segments"
    with house.db.write() as tx:
        campaigns.cancel(tx, running.campaign.id, now_ms=clock.now_ms())
    await running.look()
    assert running.tally() == GroupTally(queued=5, failed=15, segments=40, credits=10)
    assert now(house.db, running.campaign).ended_at_ms is None
    await running.send()
    await running.look()
    row = now(house.db, running.campaign)
    assert (row.status, row.ended_at_ms is None, running.tally()) == (
        "canceled",
        False,
        GroupTally(delivered=5, failed=15, segments=40, credits=10),
    )
    assert {row.error_code for row in house.messages()} == {None, "canceled"}
    assert house.credits() == 1_000 - 10
    house.assert_sound()


@awaited
async def test_a_paused_one_leaves_nothing_for_a_carrier_and_a_resumed_one_all(
    house: House,
) -> None:
    running = Running(house, 20, message="Hello {phone}")
    await running.look()
    with house.db.write() as tx:
        campaigns.pause(tx, running.campaign.id)
    await running.look()
    await running.send()
    assert (running.link.submitted, house.count(queue)) == ([], 20)
    with house.db.write() as tx:
        campaigns.resume(tx, running.campaign.id)
    await running.look()
    await running.send()
    await running.look()
    assert (running.state(), house.count(messages, messages.c.status == "delivered")) == (
        ("completed", None),
        20,
    )
