"""The simulator does more than tests/support/wire/conformance.py asks: the recipient's last digits
choose outcomes, and nothing owed is lost or said twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any, TypeVarTuple

import pytest

from heliograph.carriers import LinkState, ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.carriers.link import RECEIPTS_UNACKNOWLEDGED_MAX
from heliograph.carriers.simulator import (
    RECEIPTS_LATE_MAX,
    OwedReceipt,
    SimulatorLink,
    SimulatorSettings,
)
from heliograph.text import count_segments
from tests.support.wire.recorder import Recorder, outgoing, prepared, submit_all

Ts = TypeVarTuple("Ts")

LATE = "233201234003"
QUICK = SimulatorSettings(receipt_delay_s=0)
NEVER_BY_ITSELF = SimulatorSettings(receipt_delay_s=600)


@asynccontextmanager
async def simulator(
    settings: SimulatorSettings = QUICK, acknowledges: bool = True
) -> AsyncIterator[tuple[SimulatorLink, Recorder]]:
    """Yields a bound simulator and its inbox."""
    inbox = Recorder(acknowledges)
    link = SimulatorLink(settings, inbox)
    inbox.link = link
    await link.start()
    yield link, inbox
    await link.close(0)


class MovableLoop(asyncio.SelectorEventLoop):
    """Is an event loop whose time a test can move, and that counts what is called in it."""

    moved_s = 0.0
    calls = 0

    def time(self) -> float:
        return super().time() + self.moved_s

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.calls += 1
        return super().call_soon(callback, *args, context=context)


def in_movable_time(story: Callable[[MovableLoop], Coroutine[None, None, None]]) -> None:
    loop = MovableLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(story(loop))


ROUNDS = 20


async def a_moment() -> None:
    """Lets as many rounds of the event loop pass as anything that is due now can take."""
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("recipient", "state", "error"),
    [
        ("233201234000", ReceiptState.UNDELIV, "001"),
        ("233201234002", ReceiptState.EXPIRED, "027"),
        ("233201234004", ReceiptState.DELIVRD, "000"),
        ("233201234567", ReceiptState.DELIVRD, "000"),
    ],
)
async def test_the_last_digits_choose_the_receipt(
    recipient: str, state: ReceiptState, error: str
) -> None:
    async with simulator() as (link, inbox):
        [submission] = link.prepare(outgoing(recipient=recipient))
        link.submit([submission])
        [receipt] = await inbox.until_received(1)
        [answer] = inbox.answers
        assert answer == SubmitAnswer(
            submission.message_id, 1, 1, 1, SubmitOutcome.ACCEPTED, answer.ref
        )
        assert (receipt.ref, receipt.state, receipt.error) == (answer.ref, state, error)
        assert (receipt.recipient, receipt.sender) == (recipient, "AMINA")
        assert f"id:{answer.ref} ".encode() in receipt.raw
        assert f"stat:{state.value} err:{error}".encode() in receipt.raw


async def test_a_recipient_in_001_is_refused_at_submit_and_gets_no_receipt() -> None:
    async with simulator(NEVER_BY_ITSELF) as (link, inbox):
        refused, taken = prepared(link, 1, "233201234001") + prepared(link, 1, "233201230010")
        link.submit([refused, taken])
        await inbox.until_answered(2)
        assert inbox.answers[0] == SubmitAnswer(
            message_id=refused.message_id,
            part=1,
            parts=1,
            attempt=1,
            outcome=SubmitOutcome.REFUSED,
            ref=None,
            command_status=0x0B,
        )
        await link.close(0)  # which hands over every receipt that is owed
        assert [receipt.recipient for receipt in inbox.receipts] == ["233201230010"]


def test_a_recipient_in_003_gets_its_receipt_30_s_after_the_others() -> None:
    async def story(loop: MovableLoop) -> None:
        async with simulator(SimulatorSettings()) as (link, inbox):
            link.submit(prepared(link, 1, LATE) + prepared(link, 1))
            await inbox.until_received(1)
            first_s = loop.time()
            while len(inbox.receipts) < 2:
                loop.moved_s += 0.5
                await asyncio.sleep(0)
            assert 29 <= loop.time() - first_s <= 31.5
            assert [(receipt.recipient, receipt.state) for receipt in inbox.receipts] == [
                ("233201234567", ReceiptState.DELIVRD),
                (LATE, ReceiptState.DELIVRD),
            ]

    in_movable_time(story)


def test_each_receipt_waits_its_own_time() -> None:
    async def story(loop: MovableLoop) -> None:
        async with simulator(SimulatorSettings(receipt_delay_s=100), acknowledges=False) as (
            link,
            inbox,
        ):
            received = []
            for submitted in (1, 1, 1, 1, 0, 0):
                await submit_all(link, inbox, prepared(link, submitted))
                loop.moved_s += 40
                await a_moment()
                received.append(len(inbox.receipts))
            assert received == [0, 0, 1, 2, 3, 4]

    in_movable_time(story)


@pytest.mark.parametrize("text", ["a" * 307 + "€", "ű" * 400, "😀" * 335])
async def test_every_segment_has_an_id_and_a_receipt_of_its_own_and_together_they_are_the_text(
    text: str,
) -> None:
    encoding, segments = count_segments(text)
    async with simulator() as (link, inbox):
        submissions = link.prepare(outgoing(text, encoding=encoding, segments=segments))
        assert [(s.part, s.parts) for s in submissions] == [
            (k, 1 << (k - 1)) for k in range(1, segments + 1)
        ]
        assert "".join(s.data for s in submissions) == text
        link.submit(submissions)
        await inbox.until_received(segments)
        refs = [answer.ref for answer in inbox.answers]
        assert len(set(refs)) == segments
        assert [receipt.ref for receipt in inbox.receipts] == refs


async def test_what_the_window_has_no_room_for_is_unspent_and_the_rest_is_answered_once() -> None:
    async with simulator(SimulatorSettings(window=5, receipt_delay_s=0)) as (link, inbox):
        submissions = prepared(link, 9)
        link.submit(submissions[:3])
        assert link.room() == 2
        link.submit(submissions[3:])
        assert link.room() == 0
        assert inbox.answers == []  # nothing is reported from within submit
        await inbox.until_answered(9)
        assert link.room() == 5
        outcomes = {answer.message_id: answer.outcome for answer in inbox.answers}
        assert [outcomes[s.message_id] for s in submissions] == [SubmitOutcome.ACCEPTED] * 5 + [
            SubmitOutcome.UNSPENT
        ] * 4
        await link.close(0)
        assert (len(inbox.answers), len(inbox.receipts)) == (9, 5)


async def test_receipts_wait_while_too_many_are_not_stored_and_none_comes_twice() -> None:
    most = RECEIPTS_UNACKNOWLEDGED_MAX
    async with simulator(acknowledges=False) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 2 * most + 10))
        await inbox.until_received(most)
        await a_moment()
        assert len(inbox.receipts) == most
        link.acknowledge(inbox.receipts[:10])
        await inbox.until_received(most + 10)
        link.acknowledge(inbox.receipts[:10])  # again: makes no room
        await a_moment()
        assert len(inbox.receipts) == most + 10
        link.acknowledge(inbox.receipts)
        await inbox.until_received(2 * most + 10)
        assert {receipt.ref for receipt in inbox.receipts} == {
            answer.ref for answer in inbox.answers
        }


def test_receipts_that_must_wait_keep_nothing_busy() -> None:
    async def story(loop: MovableLoop) -> None:
        async with simulator(acknowledges=False) as (link, inbox):
            link.resume(
                [
                    OwedReceipt(f"a{k}", "AMINA", "233201234567")
                    for k in range(RECEIPTS_UNACKNOWLEDGED_MAX + 1)
                ]
            )
            await inbox.until_received(RECEIPTS_UNACKNOWLEDGED_MAX)
            await a_moment()
            loop.calls = 0
            await a_moment()
            assert loop.calls == ROUNDS  # those of a_moment itself

    in_movable_time(story)


async def test_closing_hands_over_every_receipt_that_is_owed_the_late_ones_too() -> None:
    async with simulator(NEVER_BY_ITSELF) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 3) + prepared(link, 3, LATE))
        assert inbox.receipts == []
        await link.close(0)
        assert {receipt.ref for receipt in inbox.receipts} == {
            answer.ref for answer in inbox.answers
        }
        assert len(inbox.receipts) == 6


@pytest.mark.parametrize(
    ("grace_s", "outcome", "receipts"),
    [(5.0, SubmitOutcome.ACCEPTED, 3), (0.0, SubmitOutcome.UNANSWERED, 0)],
)
async def test_only_what_was_accepted_before_the_end_has_a_receipt(
    grace_s: float, outcome: SubmitOutcome, receipts: int
) -> None:
    async with simulator(SimulatorSettings(answer_delay_s=0.05)) as (link, inbox):
        link.submit(prepared(link, 3))
        await link.close(grace_s)
        assert inbox.outcomes() == [outcome] * 3
        assert len(inbox.receipts) == receipts


async def test_what_a_killed_process_owed_can_be_taken_up_by_the_next() -> None:
    async with simulator() as (link, inbox):
        link.resume(
            [
                OwedReceipt("19a3f", "AMINA", "233201234000"),
                OwedReceipt("19a40", "AMINA", "233201234567"),
            ]
        )
        await inbox.until_received(2)
        assert [(receipt.ref, receipt.state) for receipt in inbox.receipts] == [
            ("19a3f", ReceiptState.UNDELIV),
            ("19a40", ReceiptState.DELIVRD),
        ]


async def test_a_flood_of_late_receipts_holds_up_nobody_else() -> None:
    async with simulator() as (link, inbox):
        link.resume([OwedReceipt(f"a{k}", "AMINA", LATE) for k in range(RECEIPTS_LATE_MAX + 1)])
        await inbox.until_received(1)
        await a_moment()
        assert [receipt.ref for receipt in inbox.receipts] == [f"a{RECEIPTS_LATE_MAX}"]
        assert link.room() == QUICK.window


async def test_its_ids_are_hex_as_matching_keeps_them_and_differ_from_other_processes() -> None:
    inbox = Recorder()
    links = [SimulatorLink(QUICK, inbox) for _ in range(10)]
    for link in links:  # all in the same few milliseconds
        await link.start()
        link.submit(prepared(link, 100))
    await inbox.until_answered(1_000)
    refs = {answer.ref or "" for answer in inbox.answers}
    assert len(refs) == 1_000
    assert all(f"{int(ref, 16):x}" == ref and len(ref) <= 64 for ref in refs)


async def test_there_is_room_only_while_it_is_bound() -> None:
    inbox = Recorder()
    link = SimulatorLink(QUICK, inbox)
    rooms = [(link.state, link.room())]
    await link.start()
    rooms.append((link.state, link.room()))
    await link.close(0)
    rooms.append((link.state, link.room()))
    assert rooms == [(LinkState.CONNECTING, 0), (LinkState.BOUND, 500), (LinkState.CLOSED, 0)]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("window", 0),
        ("answer_delay_s", -1.0),
        ("receipt_delay_s", float("inf")),
        ("late_receipt_s", float("nan")),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(setting: str, value: float) -> None:
    given: dict[str, Any] = {setting: value}
    with pytest.raises(ValueError, match=rf"^{setting}: {value} \(allowed: [01] or more\)$"):
        SimulatorSettings(**given)
