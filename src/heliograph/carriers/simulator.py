"""The built-in simulator: a carrier in this process, for sandbox keys, demonstrations and tests. Nothing leaves the machine.

The recipient's last three digits choose what becomes of a submission (contract section 4):

| …001 | refused at submit, command_status 0x0B (invalid destination address) |
| …000 | accepted, receipt UNDELIV |
| …002 | accepted, receipt EXPIRED |
| …003 | accepted, receipt DELIVRD, 30 s later than the others |
| else | accepted, receipt DELIVRD |

It remembers in memory only. `close` hands over at once all receipts that it owes, so an orderly stop leaves no message without one
(a late receipt then comes early rather than never). A killed process takes what it owes with it: its messages would stay `sent`, as
with a carrier that loses receipts. Whoever starts the next one knows them (accepted, without a final receipt) and gives them to `resume`.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

from heliograph.base import clock
from heliograph.carriers.link import Answer, Inbox, LinkState, Outcome, Outgoing, Receipt, ReceiptState, Submission
from heliograph.text import split_segments

ENDING_DIGITS: Final = 3
REFUSED_ENDING: Final = "001"
LATE_ENDING: Final = "003"
INVALID_DESTINATION: Final = 0x0B  # ESME_RINVDSTADR (SMPP 3.4, 5.1.3)

RECEIPTS_UNACKNOWLEDGED_MAX: Final = 2_000  # handed over and not yet stored, as with an SMPP session
RECEIPTS_OWED_MAX: Final = 100_000  # 30 MB; past it there is no room until some are stored
RECEIPTS_LATE_MAX: Final = 100_000  # further ones come with the others: a flood to …003 must not stop everybody's sandbox for 30 s
TEXTS_KEPT_MAX: Final = 512  # a bulk send has one text for 10,000 recipients: it is split once
_TIMER_SLACK_S: Final = 0.001  # event loops ring that much too early

_DELIVERED: Final = (ReceiptState.DELIVRD, "000")
_UNDELIVERED: Final = {  # with the errors that a network gives (3GPP TS 29.002, 17.6.6): unknown subscriber, absent subscriber
    "000": (ReceiptState.UNDELIV, "001"),
    "002": (ReceiptState.EXPIRED, "027"),
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SimulatorSettings:
    """Times in seconds. Raises ValueError, naming the setting, what was found and what is allowed."""

    window: int = 500  # submissions without an answer
    answer_delay_s: float = 0.0  # 0: in the event loop's next round
    receipt_delay_s: float = 0.05
    late_receipt_s: float = 30.0  # on top of it

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window: {self.window} (allowed: 1 or more)")
        for name in ("answer_delay_s", "receipt_delay_s", "late_receipt_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)} (allowed: 0 or more)")


class Owed(NamedTuple):
    """An accepted submission whose receipt is still to come."""

    ref: str
    sender: str
    recipient: str  # E.164 digits


class SimulatorLink:
    """Implements `Link`. Made and used in one event loop; every report to `inbox` comes from there, but none from within `submit`."""

    def __init__(self, settings: SimulatorSettings, inbox: Inbox) -> None:
        self._settings = settings
        self._inbox = inbox
        self._loop = asyncio.get_running_loop()
        self._state = LinkState.CONNECTING
        self._unanswered: _Delayed[Submission] = _Delayed(self._loop, settings.answer_delay_s, self._answer)
        self._owed: _Delayed[Owed] = _Delayed(self._loop, settings.receipt_delay_s, self._deliver)
        self._owed_late: _Delayed[Owed] = _Delayed(self._loop, settings.receipt_delay_s + settings.late_receipt_s, self._deliver)
        self._unacknowledged: set[int] = set()
        self._receipts_made = 0
        self._process = os.urandom(4).hex()  # in each ref: processes that run side by side give different ones
        self._refs_made = 0
        self._is_drained = asyncio.Event()

    @property
    def state(self) -> LinkState:
        return self._state

    def room(self) -> int:
        if self._state is not LinkState.BOUND:
            return 0
        return max(0, min(self._settings.window - len(self._unanswered), RECEIPTS_OWED_MAX - len(self._owed)))

    def prepare(self, message: Outgoing) -> list[Submission]:
        """One submission for each segment; `data` is the segment's text."""
        texts = (message.text,) if message.segments == 1 else _split(message.text, message.encoding)
        return [Submission(message.message_id, part, 1 << (part - 1), message.attempt, message.sender, message.recipient, text)
                for part, text in enumerate(texts, 1)]

    def submit(self, submissions: Sequence[Submission]) -> None:
        """Takes as many as there is room for; the others are answered UNSPENT, from the event loop's next round."""
        room = self.room()
        self._unanswered.put(submissions[:room])
        if len(submissions) > room:
            self._loop.call_soon(self._inbox.answered, [_answer(submission, Outcome.UNSPENT) for submission in submissions[room:]])

    def acknowledge(self, receipts: Sequence[Receipt]) -> None:
        self._unacknowledged.difference_update([receipt.token for receipt in receipts if isinstance(receipt.token, int)])
        self._owed.look_again()
        self._owed_late.look_again()

    def resume(self, owed: Iterable[Owed]) -> None:
        """Takes up the receipts that an earlier process owed when it was killed."""
        self._owe(list(owed))

    async def start(self) -> None:
        self._show(LinkState.BOUND, "in this process")

    async def close(self, drain_s: float) -> None:
        """Waits up to `drain_s` for the outstanding answers, and hands over at once all receipts that are owed."""
        if self._state is LinkState.CLOSED:
            return
        self._state = LinkState.CLOSED  # no room from here on
        if len(self._unanswered):
            with suppress(TimeoutError):
                async with asyncio.timeout(drain_s):
                    await self._is_drained.wait()
        unanswered = self._unanswered.take_all()
        if unanswered:
            self._inbox.answered([_answer(submission, Outcome.UNANSWERED) for submission in unanswered])
        owed = self._owed.take_all() + self._owed_late.take_all()
        if owed:
            self._inbox.received([self._receipt(each) for each in owed])
        self._inbox.changed(LinkState.CLOSED, "")

    def _show(self, state: LinkState, detail: str) -> None:
        self._state = state
        self._inbox.changed(state, detail)

    def _answer(self, unanswered: "_Delayed[Submission]") -> None:
        """Answers all that is due, and owes the receipts of what it accepts. Hot."""
        answers, owed = [], []
        now_ms = clock.now_ms()  # stands first in a ref: the refs of a time are a range of the index
        for submission in unanswered.take_due(self._settings.window):
            if submission.recipient[-ENDING_DIGITS:] == REFUSED_ENDING:
                answers.append(_answer(submission, Outcome.REFUSED, None, INVALID_DESTINATION))
                continue
            ref = f"{now_ms:x}{self._process}{self._refs_made:08x}"
            self._refs_made += 1
            answers.append(_answer(submission, Outcome.ACCEPTED, ref))
            if submission.wants_receipt:
                owed.append(Owed(ref, submission.sender, submission.recipient))
        if answers:
            self._inbox.answered(answers)
            self._owe(owed)
        if self._state is LinkState.CLOSED and not len(unanswered):
            self._is_drained.set()

    def _owe(self, owed: list[Owed]) -> None:
        late_room = RECEIPTS_LATE_MAX - len(self._owed_late)
        soon: list[Owed] = []
        late: list[Owed] = []
        for each in owed:
            is_late = each.recipient[-ENDING_DIGITS:] == LATE_ENDING and len(late) < late_room
            (late if is_late else soon).append(each)
        self._owed.put(soon)
        self._owed_late.put(late)

    def _deliver(self, owed: "_Delayed[Owed]") -> None:
        """Hands over the receipts that are due, as many as may be unacknowledged; `acknowledge` looks again."""
        due = owed.take_due(RECEIPTS_UNACKNOWLEDGED_MAX - len(self._unacknowledged))
        if due:
            self._unacknowledged.update(range(self._receipts_made, self._receipts_made + len(due)))
            self._inbox.received([self._receipt(each) for each in due])

    def _receipt(self, owed: Owed) -> Receipt:
        ref, sender, recipient = owed
        state, error = _UNDELIVERED.get(recipient[-ENDING_DIGITS:], _DELIVERED)
        token = self._receipts_made
        self._receipts_made += 1
        raw = f"id:{ref} sub:001 dlvrd:{'001' if state is ReceiptState.DELIVRD else '000'} stat:{state.value} err:{error} text:"
        return Receipt(ref, state, error, recipient, sender, None, raw.encode("ascii"), token)


class _Delayed(Generic[T]):
    """What is put in can be taken out `delay_s` later, in the same order; `on_due` is called when something can."""

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: float, on_due: "Callable[[_Delayed[T]], None]") -> None:
        self._loop = loop
        self._delay_s = delay_s
        self._on_due = on_due
        self._items: deque[tuple[float, T]] = deque()
        self._timer: asyncio.Handle | None = None
        self._is_held = False  # some is due that could not be taken: whoever makes that possible looks again

    def __len__(self) -> int:
        return len(self._items)

    def put(self, items: Sequence[T]) -> None:
        due_s = self._loop.time() + self._delay_s
        self._items.extend([(due_s, item) for item in items])
        self.look_again()

    def take_due(self, most: int) -> list[T]:
        now_s = self._loop.time() + _TIMER_SLACK_S
        items = self._items
        due: list[T] = []
        while items and len(due) < most and items[0][0] <= now_s:
            due.append(items.popleft()[1])
        self._is_held = bool(items) and items[0][0] <= now_s
        return due

    def take_all(self) -> list[T]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items = [item for _, item in self._items]
        self._items.clear()
        return items

    def look_again(self) -> None:
        """Sets the timer to when the first item is due, if there is one and it is not set."""
        if self._timer is None and self._items:
            wait_s = self._items[0][0] - self._loop.time()
            self._timer = self._loop.call_later(wait_s, self._ring) if wait_s > 0 else self._loop.call_soon(self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._on_due(self)
        if not self._is_held:
            self.look_again()


@lru_cache(TEXTS_KEPT_MAX)
def _split(text: str, encoding: str) -> tuple[str, ...]:
    return tuple(split_segments(text, encoding))


def _answer(submission: Submission, outcome: Outcome, ref: str | None = None, command_status: int = 0) -> Answer:
    return Answer(submission.message_id, submission.part, submission.parts, submission.attempt, outcome, ref, command_status)
