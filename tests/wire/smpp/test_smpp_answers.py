"""A link makes an outcome of each answer to submit_sm, late ones and none at all included, and
every submission gets exactly one Answer.
"""

import pytest

from heliograph.carriers.link import LinkState, SubmitOutcome
from tests.support.wire.recorder import bound, outgoing, prepared, submit_all
from tests.support.wire.smsc_peer import Smsc


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (0x58, SubmitOutcome.THROTTLED),
        (0x14, SubmitOutcome.THROTTLED),
        (0x08, SubmitOutcome.RETRY),
        (0x64, SubmitOutcome.RETRY),
        (0x045, SubmitOutcome.RETRY),
        (0x400, SubmitOutcome.RETRY),
        (0x0B, SubmitOutcome.REFUSED),
        (0x01, SubmitOutcome.REFUSED),
        (0xC3, SubmitOutcome.REFUSED),
    ],
)
@pytest.mark.parametrize("nack", [False, True], ids=["submit_sm_resp", "generic_nack"])
async def test_a_status_becomes_its_outcome_and_harms_nothing_else(
    smsc: Smsc, status: int, outcome: SubmitOutcome, nack: bool
) -> None:
    await smsc.behave(statuses={"233200000009": status})
    async with bound(smsc.settings()) as (link, inbox):
        if nack:
            await smsc.behave(nack=True)
        await submit_all(link, inbox, prepared(link, 1, recipient="233200000009"))
        await smsc.behave(nack=False)
        await submit_all(link, inbox, prepared(link, 1))
        assert link.state is LinkState.BOUND
    assert inbox.outcomes() == [outcome, SubmitOutcome.ACCEPTED]
    assert (inbox.answers[0].command_status, inbox.answers[0].ref) == (status, None)


async def test_a_generic_nack_that_says_ok_refuses_all_the_same(smsc: Smsc) -> None:
    await smsc.behave(nack=True)
    async with bound(smsc.settings()) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 1))
    assert inbox.outcomes() == [SubmitOutcome.RETRY]


async def test_a_carrier_may_read_a_status_in_its_own_way(smsc: Smsc) -> None:
    await smsc.behave(next_statuses=[0x400])
    async with bound(smsc.settings(status_overrides={0x400: SubmitOutcome.REFUSED})) as (
        link,
        inbox,
    ):
        await submit_all(link, inbox, prepared(link, 1))
    assert inbox.outcomes() == [SubmitOutcome.REFUSED]


async def test_a_fault_of_the_session_leaves_messages_unspent_and_binds_anew(smsc: Smsc) -> None:
    await smsc.behave(next_statuses=[0x04, 0x04, 0x04])
    async with bound(smsc.settings(window=3)) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 3))
        assert link.room() == 0
        await smsc.until("binds", 2)
        await inbox.until_state(LinkState.BOUND)
        await submit_all(link, inbox, prepared(link, 1))
    assert inbox.outcomes() == [SubmitOutcome.UNSPENT] * 3 + [SubmitOutcome.ACCEPTED]


async def test_an_answer_that_takes_long_is_reported_twice_as_promised(smsc: Smsc) -> None:
    await smsc.behave(delay_ms=400)
    async with bound(smsc.settings(answer_timeout_s=0.1)) as (link, inbox):
        submissions = prepared(link, 2)
        link.submit(submissions)
        await inbox.until_answered(2)
        assert link.room() == 10  # the window is free again
        await inbox.until_answered(4)
    assert [(answer.outcome, answer.late) for answer in inbox.answers] == [
        (SubmitOutcome.UNANSWERED, False)
    ] * 2 + [(SubmitOutcome.ACCEPTED, True)] * 2
    assert [answer.message_id for answer in inbox.answers[2:]] == [
        submission.message_id for submission in submissions
    ]
    assert all(answer.ref for answer in inbox.answers[2:])


async def test_a_broken_connection_puts_what_was_written_in_doubt(smsc: Smsc) -> None:
    await smsc.behave(mute=True)
    async with bound(smsc.settings(window=5)) as (link, inbox):
        submissions = prepared(link, 5)
        link.submit(submissions)
        await smsc.until("submits", 5)
        await smsc.tell("drop")
        await inbox.until_answered(5)
        assert link.room() == 0
        await smsc.behave(mute=False)
        await inbox.until_state(LinkState.BOUND)
        await submit_all(link, inbox, prepared(link, 1))
    assert inbox.outcomes() == [SubmitOutcome.UNANSWERED] * 5 + [SubmitOutcome.ACCEPTED]
    assert [answer.message_id for answer in inbox.answers[:5]] == [
        submission.message_id for submission in submissions
    ]


async def test_throttle_answers_slow_the_link_down_and_nothing_is_lost(smsc: Smsc) -> None:
    await smsc.behave(tps=60)
    async with bound(smsc.settings(window=20)) as (link, inbox):
        accepted: set[str] = set()
        messages = {
            message.message_id: message
            for message in (outgoing(f"message {number}") for number in range(240))
        }
        while len(accepted) < len(messages):
            waiting = [
                message for message_id, message in messages.items() if message_id not in accepted
            ]
            await submit_all(link, inbox, link.prepare(waiting[0]))
            accepted.update(
                answer.message_id
                for answer in inbox.answers
                if answer.outcome is SubmitOutcome.ACCEPTED
            )
        assert link.is_slowed
    assert set(inbox.outcomes()) == {SubmitOutcome.ACCEPTED, SubmitOutcome.THROTTLED}
    submits = (await smsc.log())["submits"]
    assert len([submit for submit in submits if submit["status"] == 0]) == len(messages)
    last_second = [submit for submit in submits if submit["at_ms"] > submits[-1]["at_ms"] - 1_000]
    assert len(last_second) <= 100  # without slowing down, a thousand and more
