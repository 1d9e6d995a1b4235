"""The simulator as a carrier: what the recipient's last digits do, and that nothing it owes is lost or said twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from heliograph.base import ids
from heliograph.carriers import Answer, LinkState, Outcome, Outgoing, Receipt, ReceiptState, Submission
from heliograph.carriers.simulator import RECEIPTS_LATE_MAX, RECEIPTS_UNACKNOWLEDGED_MAX, Owed, SimulatorLink, SimulatorSettings
from heliograph.text import count_segments

QUICK = SimulatorSettings(receipt_delay_s=0.0)


class Reports:
    """An Inbox that keeps what it is told, and lets a test wait for it."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.receipts: list[Receipt] = []
        self.states: list[LinkState] = []
        self._told = asyncio.Event()

    def answered(self, answers: Sequence[Answer]) -> None:
        self.answers += answers
        self._told.set()

    def received(self, receipts: Sequence[Receipt]) -> None:
        self.receipts += receipts
        self._told.set()

    def changed(self, state: LinkState, detail: str) -> None:
        self.states.append(state)
        self._told.set()

    async def until(self, *, answers: int = 0, receipts: int = 0) -> None:
        async with asyncio.timeout(10):
            while len(self.answers) < answers or len(self.receipts) < receipts:
                self._told.clear()
                await self._told.wait()


class MovableLoop(asyncio.SelectorEventLoop):
    """An event loop whose time a test can move."""

    moved_s = 0.0

    def time(self) -> float:
        return super().time() + self.moved_s


Story = Callable[[SimulatorLink, Reports], Awaitable[None]]


def tell(story: Story, settings: SimulatorSettings = QUICK) -> None:
    """Runs a story with a simulator that is bound."""

    async def run() -> None:
        reports = Reports()
        link = SimulatorLink(settings, reports)
        await link.start()
        await story(link, reports)
        await link.close(1)

    with asyncio.Runner(loop_factory=MovableLoop) as runner:
        runner.run(run())


def to(recipient: str, text: str = "Hello") -> Outgoing:
    encoding, segments = count_segments(text)
    return Outgoing(ids.raw_of_number(ids.new_number()), "ACME", recipient, text, encoding, segments, validity_s=3_600)


def many(link: SimulatorLink, count: int, ending: str = "999") -> list[Submission]:
    return [submission for _ in range(count) for submission in link.prepare(to(f"233201234{ending}"))]


async def submit_all(link: SimulatorLink, reports: Reports, submissions: Sequence[Submission]) -> None:
    for start in range(0, len(submissions), link.room()):
        window = submissions[start : start + link.room()]
        link.submit(window)
        await reports.until(answers=start + len(window))


@pytest.mark.parametrize(("recipient", "state", "error"), [
    ("233201234000", ReceiptState.UNDELIV, "001"),
    ("233201234002", ReceiptState.EXPIRED, "027"),
    ("233201234004", ReceiptState.DELIVRD, "000"),
    ("233201234567", ReceiptState.DELIVRD, "000"),
])  # fmt: skip
def test_the_last_digits_choose_the_receipt(recipient: str, state: ReceiptState, error: str) -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        [submission] = link.prepare(to(recipient))
        link.submit([submission])
        await reports.until(answers=1, receipts=1)
        [answer], [receipt] = reports.answers, reports.receipts
        assert answer == Answer(submission.message_id, 1, 1, 1, Outcome.ACCEPTED, answer.ref)
        assert (receipt.ref, receipt.state, receipt.error) == (answer.ref, state, error)
        assert (receipt.recipient, receipt.sender) == (recipient, "ACME")
        assert f"id:{answer.ref} ".encode() in receipt.raw
        assert f"stat:{state.value} err:{error}".encode() in receipt.raw

    tell(story)


def test_a_recipient_in_001_is_refused_at_submit_and_gets_no_receipt() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        refused, taken = link.prepare(to("233201234001")) + link.prepare(to("233201230010"))
        link.submit([refused, taken])
        await reports.until(answers=2, receipts=1)
        assert reports.answers[0] == Answer(refused.message_id, 1, 1, 1, Outcome.REFUSED, None, 0x0B)
        await link.close(0)  # which hands over every receipt that is owed
        assert [receipt.recipient for receipt in reports.receipts] == ["233201230010"]

    tell(story)


def test_a_recipient_in_003_gets_its_receipt_30_s_after_the_others() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        link.submit(link.prepare(to("233201234003")) + link.prepare(to("233201234567")))
        await reports.until(receipts=1)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovableLoop)
        accepted_s = loop.time()
        while len(reports.receipts) < 2:
            loop.moved_s += 0.5
            await asyncio.sleep(0)
        assert 29 <= loop.time() - accepted_s <= 31.5
        assert [(receipt.recipient, receipt.state) for receipt in reports.receipts] == [
            ("233201234567", ReceiptState.DELIVRD), ("233201234003", ReceiptState.DELIVRD)]

    tell(story, SimulatorSettings())


@pytest.mark.parametrize("text", ["a" * 160, "a" * 307 + "€", "ű" * 400, "😀" * 335])
def test_every_segment_is_a_submission_with_an_answer_and_a_receipt_of_its_own(text: str) -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        message = to("233201234567", text)
        submissions = link.prepare(message)
        assert [(s.part, s.parts) for s in submissions] == [(k, 1 << (k - 1)) for k in range(1, message.segments + 1)]
        assert "".join(s.data for s in submissions) == text
        assert link.prepare(message) == submissions
        link.submit(submissions)
        await reports.until(answers=len(submissions), receipts=len(submissions))
        assert [(a.part, a.parts) for a in reports.answers] == [(s.part, s.parts) for s in submissions]
        refs = [answer.ref for answer in reports.answers]
        assert len(set(refs)) == len(submissions)
        assert [receipt.ref for receipt in reports.receipts] == refs

    tell(story)


def test_what_the_window_has_no_room_for_is_unspent_and_the_rest_is_answered_once() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        submissions = many(link, 9)
        link.submit(submissions[:3])
        assert link.room() == 2
        link.submit(submissions[3:])
        assert link.room() == 0
        assert reports.answers == []  # nothing is reported from within submit
        await reports.until(answers=9)
        assert link.room() == 5
        outcomes = {answer.message_id: answer.outcome for answer in reports.answers}
        assert [outcomes[s.message_id] for s in submissions] == [Outcome.ACCEPTED] * 5 + [Outcome.UNSPENT] * 4
        await link.close(0)
        assert len(reports.answers) == 9
        assert len(reports.receipts) == 5

    tell(story, SimulatorSettings(window=5, receipt_delay_s=0))


def test_there_is_room_only_while_it_is_bound() -> None:
    async def story() -> None:
        reports = Reports()
        link = SimulatorLink(QUICK, reports)
        assert (link.state, link.room()) == (LinkState.CONNECTING, 0)
        await link.start()
        assert (link.state, link.room()) == (LinkState.BOUND, 500)
        await link.close(1)
        assert (link.state, link.room()) == (LinkState.CLOSED, 0)
        link.submit(many(link, 1))
        await reports.until(answers=1)
        assert reports.answers[0].outcome is Outcome.UNSPENT
        assert reports.states == [LinkState.BOUND, LinkState.CLOSED]

    asyncio.run(story())


def test_receipts_wait_while_too_many_are_not_stored_and_none_comes_twice() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        most = RECEIPTS_UNACKNOWLEDGED_MAX
        await submit_all(link, reports, many(link, 2 * most + 10))
        await reports.until(receipts=most)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(reports.receipts) == most
        link.acknowledge(reports.receipts[:10])
        await reports.until(receipts=most + 10)
        link.acknowledge(reports.receipts[:10])  # again: makes no room
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(reports.receipts) == most + 10
        link.acknowledge(reports.receipts)
        await reports.until(receipts=2 * most + 10)
        assert {receipt.ref for receipt in reports.receipts} == {answer.ref for answer in reports.answers}

    tell(story)


def test_closing_hands_over_every_receipt_that_is_owed_the_late_ones_too() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        await submit_all(link, reports, many(link, 3) + many(link, 3, "003"))
        assert reports.receipts == []
        await link.close(0)
        assert sorted(receipt.ref or "" for receipt in reports.receipts) == sorted(answer.ref or "" for answer in reports.answers)
        link.acknowledge(reports.receipts)  # what is stored after the end is no harm
        assert link.room() == 0

    tell(story, SimulatorSettings(receipt_delay_s=600))


@pytest.mark.parametrize(("drain_s", "outcome", "receipts"), [(5.0, Outcome.ACCEPTED, 3), (0.0, Outcome.UNANSWERED, 0)])
def test_closing_waits_for_outstanding_answers_as_long_as_it_is_told(drain_s: float, outcome: Outcome, receipts: int) -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        link.submit(many(link, 3))
        await link.close(drain_s)
        assert [answer.outcome for answer in reports.answers] == [outcome] * 3
        assert len(reports.receipts) == receipts

    tell(story, SimulatorSettings(answer_delay_s=0.05, receipt_delay_s=600))


def test_what_a_killed_process_owed_can_be_taken_up_by_the_next() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        link.resume([Owed("19a3f", "ACME", "233201234000"), Owed("19a40", "ACME", "233201234567")])
        await reports.until(receipts=2)
        assert [(receipt.ref, receipt.state) for receipt in reports.receipts] == [
            ("19a3f", ReceiptState.UNDELIV), ("19a40", ReceiptState.DELIVRD)]

    tell(story)


def test_a_flood_of_late_receipts_holds_up_nobody_else() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        link.resume([Owed(f"a{k}", "ACME", "233201234003") for k in range(RECEIPTS_LATE_MAX + 1)])
        await reports.until(receipts=1)
        assert [receipt.ref for receipt in reports.receipts] == [f"a{RECEIPTS_LATE_MAX}"]
        assert link.room() == QUICK.window

    tell(story)


def test_its_ids_are_hex_as_matching_keeps_them_and_differ_from_those_of_every_other_process() -> None:
    async def story(link: SimulatorLink, reports: Reports) -> None:
        links = [SimulatorLink(QUICK, reports) for _ in range(10)]  # made in the same millisecond
        for other in links:
            await other.start()
            other.submit(many(other, 100))
        await reports.until(answers=1_000)
        refs = {answer.ref or "" for answer in reports.answers}
        assert len(refs) == 1_000
        assert all(f"{int(ref, 16):x}" == ref and len(ref) <= 64 for ref in refs)

    tell(story)


@pytest.mark.parametrize(("setting", "value"), [("window", 0), ("answer_delay_s", -1.0), ("receipt_delay_s", float("inf")),
                                                ("late_receipt_s", float("nan"))])
def test_a_wrong_setting_is_named_with_what_is_allowed(setting: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{setting}: {value} \(allowed: [01] or more\)$"):
        SimulatorSettings(**{setting: value})  # type: ignore[arg-type]
