"""The built-in simulator is a carrier in this process, for sandbox keys, demonstrations and tests.
Nothing leaves the machine.

The recipient's last three digits choose what becomes of a submission
(carriers/simulated_endings.py).

It remembers in memory only. `close` hands over at once all receipts that it owes, so an orderly
stop leaves no message without one: a late receipt then comes early rather than never. A killed
process takes what it owes with it, and its messages would stay `sent`, as with a carrier that loses
receipts. The next process knows them, for they were accepted and have no final receipt, and gives
them to `resume`.
"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from heliograph.base import clock
from heliograph.carriers.delay_queue import DelayQueue
from heliograph.carriers.link import (
    RECEIPTS_UNACKNOWLEDGED_MAX,
    TEXTS_KEPT_MAX,
    Inbox,
    LinkState,
    Outgoing,
    Receipt,
    ReceiptState,
    Submission,
    SubmitAnswer,
    SubmitOutcome,
)
from heliograph.carriers.simulated_endings import LATE_S, simulated_ending
from heliograph.text import split_segments

RECEIPTS_OWED_MAX: Final = 100_000  # 30 MB; past it there is no room until some are stored
# further ones come with the others: a flood to …003 must not stop everybody's sandbox for 30 s
RECEIPTS_LATE_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class SimulatorSettings:
    """Holds the settings of the simulator. Times are in seconds. Raises ValueError, which names the
    setting, what was found and what is allowed.
    """

    window: int = 500  # submissions without an answer
    answer_delay_s: float = 0.0  # 0: in the event loop's next round
    receipt_delay_s: float = 0.05
    late_receipt_s: float = LATE_S  # on top of it

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window: {self.window} (allowed: 1 or more)")
        for name in ("answer_delay_s", "receipt_delay_s", "late_receipt_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)} (allowed: 0 or more)")


class OwedReceipt(NamedTuple):
    """Describes an accepted submission whose receipt is still to come."""

    ref: str
    sender: str
    recipient: str  # E.164 digits


class SimulatorLink:
    """Implements `Link`. It is made and used in one event loop; every report to `inbox` comes from
    there, but none from within `submit`.
    """

    def __init__(self, settings: SimulatorSettings, inbox: Inbox) -> None:
        self._settings = settings
        self._inbox = inbox
        self._loop = asyncio.get_running_loop()
        self._state = LinkState.CONNECTING
        self._unanswered: DelayQueue[Submission] = DelayQueue(
            self._loop, settings.answer_delay_s, self._answer
        )
        self._owed: DelayQueue[OwedReceipt] = DelayQueue(
            self._loop, settings.receipt_delay_s, self._deliver
        )
        self._owed_late: DelayQueue[OwedReceipt] = DelayQueue(
            self._loop, settings.receipt_delay_s + settings.late_receipt_s, self._deliver
        )
        self._unacknowledged: set[int] = set()
        self._receipts_made = 0
        # in each ref: processes that run side by side give different ones
        self._process = os.urandom(4).hex()
        self._refs_made = 0
        self._is_drained = asyncio.Event()

    @property
    def state(self) -> LinkState:
        return self._state

    def room(self) -> int:
        if self._state is not LinkState.BOUND:
            return 0
        return max(
            0,
            min(self._settings.window - len(self._unanswered), RECEIPTS_OWED_MAX - len(self._owed)),
        )

    def prepare(self, message: Outgoing) -> list[Submission]:
        """Returns one submission for each segment. `data` is the segment's text."""
        texts = (message.text,) if message.segments == 1 else _split(message.text, message.encoding)
        return [
            Submission(
                message.message_id,
                part,
                1 << (part - 1),
                attempt=message.attempt,
                sender=message.sender,
                recipient=message.recipient,
                data=text,
            )
            for part, text in enumerate(texts, 1)
        ]

    def submit(self, submissions: Sequence[Submission]) -> None:
        """Takes as many as there is room for; the others are answered UNSPENT, from the
        event loop's next round.
        """
        room = self.room()
        self._unanswered.put(submissions[:room])
        if len(submissions) > room:
            self._loop.call_soon(
                self._inbox.on_answers,
                [_answer(submission, SubmitOutcome.UNSPENT) for submission in submissions[room:]],
            )

    def acknowledge(self, receipts: Sequence[Receipt]) -> None:
        self._unacknowledged.difference_update(
            [receipt.token for receipt in receipts if isinstance(receipt.token, int)]
        )
        self._owed.restart_timer()
        self._owed_late.restart_timer()

    def resume(self, owed: Iterable[OwedReceipt]) -> None:
        """Takes up the receipts that an earlier process owed when it was killed."""
        self._owe(list(owed))

    async def start(self) -> None:
        self._show(LinkState.BOUND, "in this process")

    async def close(self, grace_s: float) -> None:
        """Waits up to `grace_s` for the outstanding answers, and hands over at once all
        receipts that are owed.
        """
        if self._state is LinkState.CLOSED:
            return
        self._state = LinkState.CLOSED  # no room from here on
        if len(self._unanswered):
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._is_drained.wait()
        unanswered = self._unanswered.take_all()
        if unanswered:
            self._inbox.on_answers(
                [_answer(submission, SubmitOutcome.UNANSWERED) for submission in unanswered]
            )
        owed = self._owed.take_all() + self._owed_late.take_all()
        if owed:
            self._inbox.on_receipts([self._receipt(each) for each in owed])
        self._inbox.on_state(LinkState.CLOSED, "")

    def _show(self, state: LinkState, detail: str) -> None:
        self._state = state
        self._inbox.on_state(state, detail)

    def _answer(self, unanswered: DelayQueue[Submission]) -> None:
        """Answers all that is due, and owes the receipts of what it accepts. It is hot."""
        answers, owed = [], []
        # stands first in a ref: the refs of a time are a range of the index
        now_ms = clock.now_ms()
        for submission in unanswered.take_due(self._settings.window):
            refused = simulated_ending(submission.recipient).command_status
            if refused:
                answers.append(_answer(submission, SubmitOutcome.REFUSED, None, refused))
                continue
            ref = f"{now_ms:x}{self._process}{self._refs_made:08x}"
            self._refs_made += 1
            answers.append(_answer(submission, SubmitOutcome.ACCEPTED, ref))
            if submission.wants_receipt:
                owed.append(OwedReceipt(ref, submission.sender, submission.recipient))
        if answers:
            self._inbox.on_answers(answers)
            self._owe(owed)
        if self._state is LinkState.CLOSED and not len(unanswered):
            self._is_drained.set()

    def _owe(self, owed: list[OwedReceipt]) -> None:
        late_room = RECEIPTS_LATE_MAX - len(self._owed_late)
        soon: list[OwedReceipt] = []
        late: list[OwedReceipt] = []
        for each in owed:
            is_late = simulated_ending(each.recipient).is_late and len(late) < late_room
            (late if is_late else soon).append(each)
        self._owed.put(soon)
        self._owed_late.put(late)

    def _deliver(self, owed: DelayQueue[OwedReceipt]) -> None:
        """Hands over the receipts that are due, as many as may be unacknowledged;
        `acknowledge` looks again.
        """
        due = owed.take_due(RECEIPTS_UNACKNOWLEDGED_MAX - len(self._unacknowledged))
        if due:
            self._unacknowledged.update(range(self._receipts_made, self._receipts_made + len(due)))
            self._inbox.on_receipts([self._receipt(each) for each in due])

    def _receipt(self, owed: OwedReceipt) -> Receipt:
        ending = simulated_ending(owed.recipient)
        token = self._receipts_made
        self._receipts_made += 1
        raw = (
            f"id:{owed.ref} sub:001"
            f" dlvrd:{'001' if ending.state is ReceiptState.DELIVRD else '000'}"
            f" stat:{ending.state.value} err:{ending.error} text:"
        )
        return Receipt(
            owed.ref,
            ending.state,
            ending.error,
            recipient=owed.recipient,
            sender=owed.sender,
            user_message_reference=None,
            raw=raw.encode("ascii"),
            token=token,
        )


@lru_cache(TEXTS_KEPT_MAX)
def _split(text: str, encoding: str) -> tuple[str, ...]:
    return tuple(split_segments(text, encoding))


def _answer(
    submission: Submission, outcome: SubmitOutcome, ref: str | None = None, command_status: int = 0
) -> SubmitAnswer:
    return SubmitAnswer(
        submission.message_id,
        submission.part,
        submission.parts,
        attempt=submission.attempt,
        outcome=outcome,
        ref=ref,
        command_status=command_status,
    )
