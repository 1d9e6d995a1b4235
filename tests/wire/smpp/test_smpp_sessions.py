"""A link binds, unbinds, reconnects, and notices a peer that is no longer there."""

import asyncio
from dataclasses import replace

import pytest

from heliograph.carriers.link import LinkState, SubmitOutcome
from heliograph.carriers.smpp.link import SmppLink
from tests.support.wire.raw_carrier import raw_carrier
from tests.support.wire.recorder import Recorder, bound, opened, prepared, submit_all
from tests.support.wire.smsc_peer import STANDARD_RECEIPT, Smsc


async def test_a_link_binds_as_it_is_told(smsc: Smsc) -> None:
    async with bound(smsc.settings(system_type="OTP", binds=2)) as (_, inbox):
        await inbox.until(lambda: inbox.states[-1][1] == "2 of 2 binds")
    log = await smsc.log()
    expected = {
        "command": "bind_transceiver",
        "system_id": "amina",
        "system_type": "OTP",
        "interface_version": 0x34,
        "status": 0,
    }
    assert log["binds"] == [expected] * 2
    assert log["unbinds"] == 2


async def test_who_has_no_lease_does_not_bind_and_does_not_bind_again(smsc: Smsc) -> None:
    permitted, inbox = [False], Recorder()
    link = SmppLink(
        smsc.settings(backoff_min_s=0.01, backoff_max_s=0.01), inbox, lambda: permitted[0]
    )
    inbox.link = link
    await link.start()
    await inbox.until(lambda: "lease" in inbox.states[-1][1])
    permitted[0] = True
    await inbox.until_state(LinkState.BOUND)
    permitted[0] = False
    await smsc.tell("drop")
    await inbox.until(lambda: "lease" in inbox.states[-1][1])
    assert len((await smsc.log())["binds"]) == 1
    await link.close(0)


async def test_sending_and_receiving_binds_work_as_one(smsc: Smsc) -> None:
    await smsc.behave(receipts=[STANDARD_RECEIPT])
    async with bound(smsc.settings(bind="tx+rx", binds=2)) as (link, inbox):
        await inbox.until(lambda: inbox.states[-1][1] == "4 of 4 binds")
        assert link.room() == 20  # two windows, those of the transmitters
        await submit_all(link, inbox, prepared(link, 20))
        await inbox.until_received(20)
        log = await smsc.until("acknowledged", 20)
    assert (
        sorted(bind["command"] for bind in log["binds"])
        == ["bind_receiver"] * 2 + ["bind_transmitter"] * 2
    )
    assert set(inbox.outcomes()) == {SubmitOutcome.ACCEPTED}


async def test_a_transmitter_alone_is_not_bound(smsc: Smsc) -> None:
    await smsc.behave(bind_statuses=[0, 0x0F])
    async with opened(smsc.settings(bind="tx+rx", backoff_min_s=30, backoff_max_s=30)) as (
        link,
        inbox,
    ):
        await inbox.until_state(LinkState.REFUSED)
        await smsc.until("binds", 2)
        assert link.room() == 0
    assert LinkState.BOUND not in [state for state, _ in inbox.states]


async def test_a_wrong_password_is_visible_and_tried_again_slowly(smsc: Smsc) -> None:
    await smsc.behave(password="another")
    async with opened(smsc.settings(backoff_min_s=0.01, backoff_max_s=0.5)) as (link, inbox):
        assert "0x0000000e" in await inbox.until_state(LinkState.REFUSED)
        assert (link.state, link.room()) == (LinkState.REFUSED, 0)
        first_s = asyncio.get_running_loop().time()
        await smsc.until("binds", 2)
        # not 0.01: half of the longest pause at least
        assert asyncio.get_running_loop().time() - first_s >= 0.2
        await smsc.behave(password="secret")
        await inbox.until_state(LinkState.BOUND)
    # and none but BOUND ended it
    assert [state for state, _ in inbox.states].count(LinkState.REFUSED) == 1


async def test_already_bound_is_visible_until_a_bind_succeeds(smsc: Smsc) -> None:
    await smsc.behave(bind_statuses=[0x05, 0x0D])
    async with opened(smsc.settings()) as (_, inbox):
        await inbox.until_state(LinkState.BOUND)
    assert [state for state, _ in inbox.states] == [
        LinkState.CONNECTING,
        LinkState.REFUSED,
        LinkState.REFUSED,
        LinkState.BOUND,
        LinkState.CLOSED,
    ]


async def test_a_lost_connection_is_made_again(smsc: Smsc) -> None:
    async with bound(smsc.settings()) as (link, inbox):
        for times in range(1, 4):
            await smsc.tell("drop")
            await smsc.until("closed", times)
            await inbox.until_times(LinkState.BOUND, times + 1)
        await submit_all(link, inbox, prepared(link, 1))
    assert inbox.outcomes() == [SubmitOutcome.ACCEPTED]


async def test_a_carrier_that_is_not_there_is_tried_at_growing_intervals(smsc: Smsc) -> None:
    began_s = asyncio.get_running_loop().time()
    async with opened(smsc.settings(port=1, backoff_min_s=0.05, backoff_max_s=10)) as (link, inbox):
        await inbox.until_times(LinkState.BACKING_OFF, 5)
        assert (link.state, link.room()) == (LinkState.BACKING_OFF, 0)
    assert asyncio.get_running_loop().time() - began_s >= 0.05 + 0.1 / 2 + 0.2 / 2 + 0.4 / 2


async def test_a_carrier_that_drops_each_session_at_once_is_tried_at_growing_intervals() -> None:
    began_s = asyncio.get_running_loop().time()
    async with (
        raw_carrier() as carrier,
        opened(replace(carrier.settings(), backoff_min_s=0.05, backoff_max_s=10)) as (_, inbox),
    ):
        for sessions in range(1, 6):
            await inbox.until_times(LinkState.BOUND, sessions)
            carrier.sessions[-1].transport.abort()
    assert asyncio.get_running_loop().time() - began_s >= 0.05 + 0.1 / 2 + 0.2 / 2 + 0.4 / 2


async def test_the_carrier_may_unbind(smsc: Smsc) -> None:
    async with bound(smsc.settings()) as (link, inbox):
        await smsc.tell("unbind")
        await smsc.until("unbind_answers", 1)
        await smsc.until("binds", 2)
        await inbox.until_state(LinkState.BOUND)
        await submit_all(link, inbox, prepared(link, 1))


async def test_the_carrier_may_enquire(smsc: Smsc) -> None:
    async with bound(smsc.settings()):
        await smsc.tell("enquire")
        await smsc.until("enquiry_answers", 1)


async def test_a_silent_link_is_tested_and_a_dead_one_is_left(smsc: Smsc) -> None:
    async with bound(smsc.settings(enquire_link_s=0.1, enquire_link_timeout_s=0.2)) as (
        link,
        inbox,
    ):
        await smsc.until("enquiries", 3)
        assert link.tally.half_open == 0
        await smsc.behave(deaf=True)
        link.submit(prepared(link, 2))
        await inbox.until_answered(2)
        assert "half-open" in await inbox.until_state(LinkState.BACKING_OFF)
        await smsc.behave(deaf=False)
        await inbox.until_state(LinkState.BOUND)
    assert inbox.outcomes() == [SubmitOutcome.UNANSWERED] * 2
    assert link.tally.half_open == 1


async def test_closing_waits_for_answers_and_unbinds(smsc: Smsc) -> None:
    await smsc.behave(delay_ms=200)
    async with bound(smsc.settings(window=20)) as (link, inbox):
        link.submit(prepared(link, 10))
        closing = asyncio.create_task(link.close(grace_s=5))
        await asyncio.sleep(0)
        # no more goes out, though there is a window still
        assert (link.room(), link.state) == (0, LinkState.BOUND)
        await closing
        assert inbox.outcomes() == [SubmitOutcome.ACCEPTED] * 10
        assert (link.room(), link.state) == (0, LinkState.CLOSED)
    log = await smsc.until("closed", 1)
    assert (log["unbinds"], len(log["binds"])) == (1, 1)


async def test_closing_waits_no_longer_than_told(smsc: Smsc) -> None:
    await smsc.behave(mute=True)
    async with bound(smsc.settings()) as (link, inbox):
        link.submit(prepared(link, 10))
        began_s = asyncio.get_running_loop().time()
        await link.close(grace_s=0.1)
        assert asyncio.get_running_loop().time() - began_s < 1
        assert inbox.outcomes() == [SubmitOutcome.UNANSWERED] * 10
    assert (await smsc.log())["unbinds"] == 1


@pytest.mark.parametrize(
    "behaviour", [{"deaf": True}, {"bind_statuses": [0x0E] * 9}], ids=["deaf", "refusing"]
)
async def test_closing_ends_whatever_the_carrier_does(
    smsc: Smsc, behaviour: dict[str, object]
) -> None:
    await smsc.behave(**behaviour)
    inbox = Recorder()
    link = SmppLink(smsc.settings(unbind_timeout_s=0.1), inbox)
    await link.start()
    await smsc.until("binds", 1)
    async with asyncio.timeout(2):
        await link.close(grace_s=0)
    assert link.state is LinkState.CLOSED
    await smsc.until("closed", 1)
