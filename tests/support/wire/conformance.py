"""Lists what every kind of Link must do: the promises of `heliograph.carriers.link.Link`, as checks
that take a link and its inbox.

The link's peer accepts every message, and sends a DELIVRD receipt for each that asks for one. Each
check gets a link that was not started yet. tests/wire/test_link_conformance.py runs all of `CHECKS`
over all kinds.
"""

import asyncio
from collections import Counter

from heliograph.carriers.link import (
    Link,
    LinkState,
    ReceiptState,
    Submission,
    SubmitAnswer,
    SubmitOutcome,
)
from heliograph.text import segments
from tests.support.wire.recorder import Recorder, outgoing, prepared, submit_all

Identity = tuple[str, int, int, int]


def identity(of: SubmitAnswer | Submission) -> Identity:
    return of.message_id, of.part, of.parts, of.attempt


async def started(link: Link, inbox: Recorder) -> None:
    await link.start()
    await inbox.until_state(LinkState.BOUND)


async def states_are_reported_from_start_to_close(link: Link, inbox: Recorder) -> None:
    assert link.room() == 0
    await started(link, inbox)
    seen = [link.state]
    assert link.room() > 0
    await link.close(grace_s=1)
    assert link.room() == 0
    seen.append(link.state)
    assert seen == [LinkState.BOUND, LinkState.CLOSED]
    # BOUND once for each bind that joins
    assert list(dict.fromkeys(state for state, _ in inbox.states if state in seen)) == seen


async def a_split_is_always_the_same_and_carries_each_segment_once(
    link: Link, inbox: Recorder
) -> None:
    for text, encoding in (("short", "GSM-7"), ("€" * 500, "GSM-7"), ("ж🎉" * 100, "UCS-2")):
        counted = len(segments.split(text, encoding))
        message = outgoing(text, encoding=encoding, segments=counted)
        submissions = link.prepare(message)
        assert submissions == link.prepare(message)
        assert sum(submission.parts for submission in submissions) == 2**counted - 1
        for submission in submissions:
            # part is the lowest of parts
            assert submission.parts & -submission.parts == 1 << (submission.part - 1)
            assert (submission.message_id, submission.attempt) == (
                message.message_id,
                message.attempt,
            )
            assert (submission.sender, submission.recipient) == (message.sender, message.recipient)


async def each_submission_is_answered_exactly_once(link: Link, inbox: Recorder) -> None:
    await started(link, inbox)
    submissions = prepared(link, 100) + link.prepare(outgoing("x" * 1_530, segments=10))
    await submit_all(link, inbox, submissions)
    await inbox.settle(0.2)
    assert Counter(map(identity, inbox.answers)) == Counter(map(identity, submissions))
    assert set(inbox.outcomes()) == {SubmitOutcome.ACCEPTED}
    assert all(answer.ref and not answer.late for answer in inbox.answers)
    assert len({answer.ref for answer in inbox.answers}) == len(submissions)


async def room_shrinks_by_what_is_handed_over(link: Link, inbox: Recorder) -> None:
    await started(link, inbox)
    before = link.room()
    link.submit(prepared(link, 3))
    assert link.room() <= before - 3
    await inbox.until_answered(3)


async def each_accepted_submission_gets_its_receipt(link: Link, inbox: Recorder) -> None:
    await started(link, inbox)
    await submit_all(link, inbox, prepared(link, 50))
    await inbox.until_received(50)
    assert {receipt.ref for receipt in inbox.receipts} == {answer.ref for answer in inbox.answers}
    for receipt in inbox.receipts:
        assert (receipt.state, receipt.recipient) == (ReceiptState.DELIVRD, "233201234567")
        assert len(receipt.raw) <= 1_024


async def receipts_may_be_acknowledged_late_twice_and_after_the_end(
    link: Link, inbox: Recorder
) -> None:
    inbox.acknowledges = False
    await started(link, inbox)
    await submit_all(link, inbox, prepared(link, 2))
    receipts = list(await inbox.until_received(2))
    link.acknowledge([])
    link.acknowledge(receipts[:1])
    link.acknowledge(receipts[:1])
    await link.close(grace_s=1)
    link.acknowledge(receipts)


async def closing_reports_what_is_outstanding_before_it_returns(
    link: Link, inbox: Recorder
) -> None:
    await started(link, inbox)
    submissions = prepared(link, link.room())
    link.submit(submissions)
    await link.close(grace_s=0)
    assert Counter(map(identity, inbox.answers)) == Counter(map(identity, submissions))
    assert set(inbox.outcomes()) <= {SubmitOutcome.ACCEPTED, SubmitOutcome.UNANSWERED}


async def closing_waits_for_answers_that_are_on_their_way(link: Link, inbox: Recorder) -> None:
    await started(link, inbox)
    submissions = prepared(link, link.room())
    link.submit(submissions)
    await link.close(grace_s=5)
    assert inbox.outcomes() == [SubmitOutcome.ACCEPTED] * len(submissions)


async def what_comes_after_the_end_is_unspent(link: Link, inbox: Recorder) -> None:
    await started(link, inbox)
    submissions = prepared(link, 2)
    await link.close(grace_s=1)
    link.submit(submissions)
    await inbox.until_answered(2)
    assert inbox.outcomes() == [SubmitOutcome.UNSPENT] * 2
    assert Counter(map(identity, inbox.answers)) == Counter(map(identity, submissions))


async def a_link_that_was_never_started_can_be_closed(link: Link, inbox: Recorder) -> None:
    async with asyncio.timeout(5):
        await link.close(grace_s=1)
    assert link.state is LinkState.CLOSED


CHECKS = [
    states_are_reported_from_start_to_close,
    a_split_is_always_the_same_and_carries_each_segment_once,
    each_submission_is_answered_exactly_once,
    room_shrinks_by_what_is_handed_over,
    each_accepted_submission_gets_its_receipt,
    receipts_may_be_acknowledged_late_twice_and_after_the_end,
    closing_reports_what_is_outstanding_before_it_returns,
    closing_waits_for_answers_that_are_on_their_way,
    what_comes_after_the_end_is_unspent,
    a_link_that_was_never_started_can_be_closed,
]
