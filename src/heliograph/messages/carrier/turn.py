"""A carrier's turn is one transaction that records what came in and claims what goes out; the wire
comes after the commit.

    take answers and receipts
    → record them, claim as many segments as the window has room for
    → commit
    → write, acknowledge

So what can be in doubt never exceeds the window, and one commit serves both directions. Whatever
came in stays in memory until a commit has it; a receipt is acknowledged only then.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from heliograph.base import cancelling, clock, ids, metrics
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log, error_fields
from heliograph.carriers import Link, LinkState, Receipt, Submission, SubmitAnswer, SubmitOutcome
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.outage import is_conflict, is_refusal
from heliograph.messages.carrier import claim as claims
from heliograph.messages.carrier.inflight_sql import (
    IN_FLIGHT_OF_WORKER,
    SUBMIT,
    OfWorker,
    ToSubmit,
)
from heliograph.messages.carrier.record import record
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.read.message import MESSAGE_PREFIX

EVENTS_MAX: Final = 2_000  # answers and receipts recorded in one turn: keeps it around 100 ms
CLAIM_MAX: Final = 1_000  # submissions claimed in one turn
# when nothing wakes it: what another process queued, retries whose time has come
POLL_S: Final = 0.25
BUSY_POLL_S: Final = 0.01  # when there may be more to send at once
# when there is no room: the rate gives it by the moment, and keeps no more than a quarter second's
PACED_POLL_S: Final = 0.05
AFTER_FAULT_S: Final = 0.25

log = Log(__name__)


class Turn:
    """Is the Inbox of a carrier's Link, and runs the loop of its turns. There is one for each
    carrier in a process. `worker` is the process number, `may_write` tells whether its claims are
    still its own, and `unsealed` decrypts the text of a one-time password.
    """

    def __init__(
        self,
        db: Database,
        carrier: CarrierFacts,
        worker: int,
        on_state: Callable[[LinkState, str], None],
        may_write: Callable[[], bool],
        unsealed: Callable[[str], str],
    ) -> None:
        self._db = db
        self._on_state = on_state
        self._may_write = may_write
        self._unsealed = unsealed
        self.carrier = carrier
        self._worker = worker
        self._answers: deque[SubmitAnswer] = deque()
        self._receipts: deque[Receipt] = deque()
        # claimed, not yet written: parts of a message that is larger than the window
        self._buffer: deque[Submission] = deque()
        # on the wire, or answered and the answer not yet stored
        self._outstanding: set[tuple[str, int]] = set()
        # fewer while what the database refuses is singled out; nothing is claimed meanwhile
        self._events_max = EVENTS_MAX
        self.moved = 0  # submissions, answers and receipts
        self.matched = 0  # evidence for the format in which the carrier's ids are read
        # a commit's reply was lost: claims may be stored that were never written
        self._uncertain = False
        self.claiming = True  # not while stopping, nor while another server may have the queue
        self._wake = asyncio.Event()
        self.link: Link | None = None

    # what the link reports

    def on_answers(self, answers: Sequence[SubmitAnswer]) -> None:
        self._answers.extend(answers)
        self._wake.set()

    def on_receipts(self, receipts: Sequence[Receipt]) -> None:
        self._receipts.extend(receipts)
        self._wake.set()

    def on_state(self, state: LinkState, detail: str) -> None:
        if state in (LinkState.BOUND, LinkState.CLOSED):
            log.info("carrier_state", carrier=self.carrier.name, state=state.value, detail=detail)
        else:  # of a try that failed, carrier_not_bound tells
            log.debug("carrier_state", carrier=self.carrier.name, state=state.value, detail=detail)
        self._on_state(state, detail)
        self._wake.set()

    # the loop

    def follow(self, carrier: CarrierFacts) -> None:
        """Uses these facts from the next turn on. Receipts that matched in one format are no
        evidence for another.
        """
        self.matched = self.matched if carrier.id_format == self.carrier.id_format else 0
        self.carrier = carrier

    def wake(self) -> None:
        """Wakes the turn, because something was queued for this carrier."""
        self._wake.set()

    async def run(self) -> None:
        """Makes turns until it is cancelled."""
        wait_s = 0.0
        while True:
            if wait_s:
                await self._wait(wait_s)
            self._wake.clear()
            try:
                wait_s = await self.run_once()
            except Exception as error:  # noqa: BLE001  whatever it was, this carrier must go on
                cancelling.raise_if_cancelled(error)
                await self._after_fault(error)
                wait_s = 0.0

    async def _after_fault(self, error: Exception) -> None:
        """Waits for a moment after a fault. If the database was there and refused something, the
        turn takes fewer events at a time, until the one whose values it refuses stands alone.
        """
        log.error(
            "turn_failed",
            carrier=self.carrier.name,
            **error_fields(error),
            events=len(self._answers) + len(self._receipts),
        )
        if not isinstance(error, Unavailable) and not is_conflict(error):
            if self._events_max == 1 and is_refusal(error):
                self._reduce_refused_event()
            self._events_max = max(
                1, min(self._events_max, len(self._answers) + len(self._receipts)) // 2
            )
        await asyncio.sleep(AFTER_FAULT_S)

    def _reduce_refused_event(self) -> None:
        """Leaves out what may be at fault in an event that is refused alone: an answer becomes
        UNANSWERED, which leaves its segment in doubt, and a receipt becomes one that nobody can
        read. An event that is refused even so is dropped. Then the segment is on the wire until the
        carrier's next Turn finds it in doubt, and the carrier sends a receipt again that was never
        acknowledged.
        """
        if self._answers:
            answer = self._answers.popleft()
            log.error(
                "answer_left_out",
                carrier=self.carrier.name,
                message=ids.text_of_raw(MESSAGE_PREFIX, answer.message_id),
                part=answer.part,
                outcome=answer.outcome.value,
            )
            if answer.outcome is not SubmitOutcome.UNANSWERED:
                self._answers.appendleft(
                    replace(answer, outcome=SubmitOutcome.UNANSWERED, ref=None)
                )
        elif self._receipts:
            receipt = self._receipts.popleft()
            bare = Receipt(
                None,
                None,
                None,
                recipient=None,
                sender=None,
                user_message_reference=None,
                raw=receipt.raw,
                token=receipt.token,
            )
            log.error("receipt_left_out", carrier=self.carrier.name, octets=len(receipt.raw))
            if receipt != bare:
                self._receipts.appendleft(bare)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass  # the poll

    async def finish(self, within_s: float | None = None) -> None:
        """Records what is left after the link was closed; claimed but unwritten parts go back to
        the queue. Tries for `within_s` seconds, or for as long as it takes if that is None; what is
        left then stays in flight, and whoever serves the carrier next finds it in doubt.
        """
        try:
            async with asyncio.timeout(within_s):
                while self._answers or self._receipts or self._buffer or self._uncertain:
                    self._uncertain = bool(self._buffer) or self._uncertain
                    try:
                        await self.run_once()
                    # whatever it was, the rest must be stored
                    except Exception as error:  # noqa: BLE001
                        cancelling.raise_if_cancelled(error)
                        await self._after_fault(error)
        except TimeoutError:
            log.error(
                "turn_not_finished",
                carrier=self.carrier.name,
                events=len(self._answers) + len(self._receipts),
            )

    async def run_once(self) -> float:
        """Makes one turn. It returns how long to wait for the next one, in seconds, if nothing
        wakes it.
        """
        link = self.link
        assert link is not None
        if self._uncertain:
            await self._take_back()
        if self._buffer and link.state is not LinkState.BOUND:
            self._give_back()
        answers = [
            self._answers.popleft() for _ in range(min(len(self._answers), self._events_max))
        ]
        arrived = [
            self._receipts.popleft()
            for _ in range(min(len(self._receipts), self._events_max - len(answers)))
        ]
        room = min(link.room(), CLAIM_MAX) if self._may_claim() else 0
        if not (answers or arrived or room > 0):
            return PACED_POLL_S if link.state is LinkState.BOUND else POLL_S
        started_s = clock.monotonic_s()
        try:
            async with self._db.hot() as tx:
                now_ms = clock.now_ms()
                await self._record(tx, answers, arrived, now_ms)
                claim = await self._claim(tx, link, room, now_ms) if room > 0 else claims.NOTHING
        except BaseException:
            self._answers.extendleft(reversed(answers))
            self._receipts.extendleft(reversed(arrived))
            self._uncertain = True
            raise
        self._outstanding.difference_update(
            (answer.message_id, answer.part) for answer in answers if not answer.late
        )
        self._buffer.extend(claim.deferred)
        self._outstanding.update(
            (submission.message_id, submission.part) for submission in claim.writing
        )
        self._write(link, claim.writing)
        link.acknowledge(arrived)
        self._answers.extend(claim.refused)
        self._count(answers, arrived, len(claim.writing), clock.monotonic_s() - started_s)
        if self._answers or self._receipts:
            self._events_max = min(EVENTS_MAX, self._events_max * 2)
            return 0.0
        self._events_max = EVENTS_MAX
        return BUSY_POLL_S if claim.writing or claim.deferred else POLL_S

    def _may_claim(self) -> bool:
        return (
            self.claiming
            and self._events_max == EVENTS_MAX
            and not clock.is_disputed()
            and self._may_write()
        )

    def _write(self, link: Link, submissions: list[Submission]) -> None:
        """Writes submissions, unless this process was stopped since it claimed them, for so long
        that others may have taken them over.
        """
        if self._may_write():
            link.submit(submissions)
        else:
            self._answer_unspent(submissions)

    def _answer_unspent(self, submissions: Iterable[Submission]) -> None:
        self.on_answers(
            [
                SubmitAnswer(s.message_id, s.part, s.parts, s.attempt, SubmitOutcome.UNSPENT)
                for s in submissions
            ]
        )

    def _count(
        self, answers: list[SubmitAnswer], arrived: list[Receipt], submitted: int, seconds: float
    ) -> None:
        name = self.carrier.name
        self.moved += len(answers) + len(arrived) + submitted
        metrics.count_transaction("turn", len(answers) + len(arrived) + submitted, seconds)
        metrics.count_submitted(name, submitted, len(self._outstanding))
        for answer in answers:
            metrics.count_answer(name, answer.outcome.value)
            if answer.command_status:
                metrics.count_error(name, answer.command_status)
        for receipt in arrived:
            metrics.count_receipt(
                name, receipt.state.value if receipt.state is not None else "unreadable"
            )
        if log.is_enabled_for(logging.DEBUG):
            for answer in answers:
                log.debug(
                    "submission_answered",
                    carrier=name,
                    message=ids.text_of_raw(MESSAGE_PREFIX, answer.message_id),
                    part=answer.part,
                    outcome=answer.outcome.value,
                    command_status=answer.command_status,
                )
            for receipt in arrived:
                log.debug(
                    "receipt_stored",
                    carrier=name,
                    ref=receipt.ref,
                    state=receipt.state and receipt.state.value,
                    code=receipt.error,
                )

    def _give_back(self) -> None:
        """Gives back to the queue what is claimed and cannot be written. There its validity ends
        in time, and another carrier can take it.
        """
        self._answer_unspent(self._buffer)
        self._buffer.clear()

    async def _take_back(self) -> None:
        """Puts claims of this process back into the queue that were stored by a COMMIT whose reply
        was lost, and so were never written to the carrier. It does so in a transaction of its own,
        so that a fault in it is not blamed on what came in meanwhile.
        """
        self._buffer.clear()
        async with self._db.hot() as tx:
            in_flight = await IN_FLIGHT_OF_WORKER.rows(tx, OfWorker(self.carrier.id, self._worker))
            lost = [
                SubmitAnswer(
                    part.message_id, part.part, part.parts, part.attempt, SubmitOutcome.UNSPENT
                )
                for part in in_flight
                if (part.message_id, part.part) not in self._outstanding
            ]
            await self._record(tx, lost, [], clock.now_ms())
        self._uncertain = False

    async def _record(
        self, tx: HotTx, answers: list[SubmitAnswer], arrived: list[Receipt], now_ms: int
    ) -> None:
        if answers or arrived:
            self.matched += await record(tx, self.carrier, self._worker, answers, arrived, now_ms)

    # what goes out

    async def _claim(self, tx: HotTx, link: Link, room: int, now_ms: int) -> claims.Claim:
        """Claims what goes out now; first comes what was claimed before."""
        writing = [self._buffer.popleft() for _ in range(min(room, len(self._buffer)))]
        if writing:
            held = {
                (part.message_id, part.part)
                for part in await SUBMIT.rows(
                    tx, [ToSubmit(s.message_id, s.part, self._worker, now_ms) for s in writing]
                )
            }
            # the parts of a message that has failed or expired meanwhile stay here: they end as if
            # the wire had not taken them
            self._answer_unspent(s for s in writing if (s.message_id, s.part) not in held)
            writing = [s for s in writing if (s.message_id, s.part) in held]
        room -= len(writing)
        if room <= 0 or self._buffer:
            return claims.NOTHING._replace(writing=writing)
        claim = await claims.claim(
            tx,
            link,
            self.carrier,
            worker=self._worker,
            room=room,
            now_ms=now_ms,
            unsealed=self._unsealed,
        )
        return claim._replace(writing=writing + claim.writing)
