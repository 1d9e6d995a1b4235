"""A carrier's turn: one transaction that records what came in and claims what goes out; the wire comes after the commit.

    take answers and receipts → record them, claim as many segments as the window has room for → commit → write, acknowledge

So what can be in doubt never exceeds the window, and one commit serves both directions. Whatever came in stays in memory until
a commit has it; a receipt is acknowledged only then.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import structlog

from heliograph.base import clock, ids, metrics
from heliograph.base.db import Database
from heliograph.base.errors import Unavailable
from heliograph.base.faults import told
from heliograph.base.hot import HotTx
from heliograph.base.outage import is_conflict
from heliograph.carriers import Answer, Link, LinkState, Outcome, Outgoing, Receipt, ReceiptState, Submission
from heliograph.messages import receipts, turn_sql
from heliograph.messages.fair import FAIR_SPACING_US
from heliograph.messages.receipts import CarrierFacts
from heliograph.messages.settle import Changes, InFlight, MessageRow, agrees, settle_answer, settle_receipt
from heliograph.messages.store import store_changes

EVENTS_MAX: Final = 2_000  # answers and receipts recorded in one turn: keeps it around 100 ms
CLAIM_MAX: Final = 1_000  # submissions claimed in one turn
POLL_S: Final = 0.25  # when nothing wakes it: what another process queued, retries whose time has come
BUSY_POLL_S: Final = 0.01  # when only the rate held it back
AFTER_FAULT_S: Final = 0.25
FINISH_TRIES: Final = 20  # 5 s: a process that stops must be gone within 30

log = structlog.get_logger(__name__)


class Turn:
    """The Inbox of a carrier's Link, and the loop that turns. One per carrier and process; `worker` is the process's epoch."""

    def __init__(self, db: Database, carrier: CarrierFacts, worker: int, on_state: Callable[[LinkState, str], None]) -> None:
        self._db = db
        self._on_state = on_state
        self.carrier = carrier
        self._worker = worker
        self._answers: deque[Answer] = deque()
        self._receipts: deque[Receipt] = deque()
        self._buffer: deque[Submission] = deque()  # claimed, not yet written: parts of a message that is larger than the window
        self._outstanding: set[tuple[str, int]] = set()  # on the wire, or answered and the answer not yet stored
        self._events_max = EVENTS_MAX  # fewer while what the database refuses is singled out; nothing is claimed meanwhile
        self.ids_match = False  # a receipt's id was an answer's id as it is: then no other base is looked for
        self._uncertain = False  # a commit's reply was lost: claims may be stored that were never written
        self.claiming = True  # not while stopping, nor while another server may have the queue
        self._wake = asyncio.Event()
        self.link: Link | None = None

    # what the link reports

    def answered(self, answers: Sequence[Answer]) -> None:
        self._answers.extend(answers)
        self._wake.set()

    def received(self, receipts: Sequence[Receipt]) -> None:
        self._receipts.extend(receipts)
        self._wake.set()

    def changed(self, state: LinkState, detail: str) -> None:
        log.info("carrier_state", carrier=self.carrier.name, state=state.value, detail=detail)
        self._on_state(state, detail)
        self._wake.set()

    # the loop

    def wake(self) -> None:
        """Something was queued for this carrier."""
        self._wake.set()

    async def run(self) -> None:
        """Turns until cancelled."""
        wait_s = 0.0
        while True:
            if wait_s:
                await self._wait(wait_s)
            self._wake.clear()
            try:
                wait_s = await self.once()
                self._events_max = min(EVENTS_MAX, self._events_max * 2) if self._answers or self._receipts else EVENTS_MAX
            except Exception as error:  # noqa: BLE001  whatever it was, this carrier must go on
                await self._after_fault(error)
                wait_s = 0.0

    async def _after_fault(self, error: Exception) -> None:
        """The database is away, or it refused something: then fewer events at a time, until the one that it refuses alone is left out."""
        log.error("turn_failed", carrier=self.carrier.name, **told(error), events=len(self._answers) + len(self._receipts))
        if not isinstance(error, Unavailable) and not is_conflict(error):
            if self._events_max == 1:
                self._leave_out()
            self._events_max = max(1, min(self._events_max, len(self._answers) + len(self._receipts)) // 2)
        await asyncio.sleep(AFTER_FAULT_S)

    def _leave_out(self) -> None:
        """The event that fails alone: an answer's segment becomes in doubt; a receipt is acknowledged, or it would come for ever."""
        if self._answers:
            left = self._answers.popleft()
            if left.outcome is not Outcome.UNANSWERED:
                self._answers.appendleft(replace(left, outcome=Outcome.UNANSWERED, ref=None))
            log.error("answer_left_out", carrier=self.carrier.name)
        elif self._receipts:
            assert self.link is not None
            self.link.acknowledge([self._receipts.popleft()])
            log.error("receipt_left_out", carrier=self.carrier.name)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass  # the poll

    async def finish(self) -> None:
        """Records what is left after the link was closed; claimed but unwritten parts go back to the queue."""
        tries = FINISH_TRIES
        while self._answers or self._receipts or self._buffer or self._uncertain:
            self._uncertain = bool(self._buffer) or self._uncertain
            self._buffer.clear()
            try:
                await self.once()
            except Exception as error:  # noqa: BLE001  what is left stays in flight, and the next process takes it over
                tries -= 1
                if tries == 0:
                    log.error("turn_not_finished", carrier=self.carrier.name, **told(error), events=len(self._answers) + len(self._receipts))
                    return
                await asyncio.sleep(AFTER_FAULT_S)

    async def once(self) -> float:
        """One turn. Answers how long to wait for the next one, in seconds, if nothing wakes it."""
        link = self.link
        assert link is not None
        answers = [self._answers.popleft() for _ in range(min(len(self._answers), self._events_max))]
        arrived = [self._receipts.popleft() for _ in range(min(len(self._receipts), self._events_max - len(answers)))]
        room = min(link.room(), CLAIM_MAX) if self.claiming and self._events_max == EVENTS_MAX else 0
        if not (answers or arrived or self._uncertain or room > 0):
            return POLL_S
        started_s = clock.monotonic_s()
        try:
            async with self._db.hot() as tx:
                now_ms = clock.now_ms()
                if self._uncertain:
                    await self._take_back(tx, now_ms)
                await self._record(tx, answers, arrived, now_ms)
                writing, kept = await self._claim(tx, room, now_ms) if room > 0 else ([], [])
        except BaseException:
            self._answers.extendleft(reversed(answers))
            self._receipts.extendleft(reversed(arrived))
            self._uncertain = True
            raise
        self._uncertain = False
        self._outstanding.difference_update((answer.message_id, answer.part) for answer in answers if not answer.late)
        self._buffer.extend(kept)
        self._outstanding.update((submission.message_id, submission.part) for submission in writing)
        link.submit(writing)
        link.acknowledge(arrived)
        self._count(answers, arrived, len(writing), clock.monotonic_s() - started_s)
        if self._answers or self._receipts:
            return 0.0
        return BUSY_POLL_S if writing or kept else POLL_S

    def _count(self, answers: list[Answer], arrived: list[Receipt], submitted: int, seconds: float) -> None:
        name = self.carrier.name
        metrics.transaction("turn", len(answers) + len(arrived) + submitted, seconds)
        metrics.submitted(name, submitted, len(self._outstanding))
        for answer in answers:
            metrics.answered(name, answer.outcome.value)
        for receipt in arrived:
            metrics.received(name, receipt.state.value if receipt.state is not None else "unreadable")
        if log.is_enabled_for(logging.DEBUG):
            for answer in answers:
                log.debug("submission_answered", carrier=name, message=ids.text_of_raw("msg", answer.message_id), part=answer.part,
                          outcome=answer.outcome.value, command_status=answer.command_status)
            for receipt in arrived:
                log.debug("receipt_stored", carrier=name, ref=receipt.ref, state=receipt.state and receipt.state.value, code=receipt.error)

    async def _take_back(self, tx: HotTx, now_ms: int) -> None:
        """Claims of ours that a lost reply to COMMIT left stored but unwritten go back to the queue."""
        rows = await tx.fetch(
            "SELECT message_id, part, parts, attempt FROM inflight WHERE carrier_id = $1 AND worker = $2 AND state <> 'in_doubt'",
            self.carrier.id, self._worker)
        lost = [row for row in rows if (row[0], row[1]) not in self._outstanding]
        self._buffer.clear()
        await self._record(tx, [Answer(row[0], row[1], row[2], row[3], Outcome.UNSPENT) for row in lost], [], now_ms)

    # what came in

    async def _record(self, tx: HotTx, answers: list[Answer], arrived: list[Receipt], now_ms: int) -> None:
        if not answers and not arrived:
            return
        doubtful = [answer for answer in answers if answer.outcome is Outcome.UNANSWERED]
        settled = [answer for answer in answers if answer.outcome is not Outcome.UNANSWERED]
        await turn_sql.DOUBT.rows(tx, sorted((answer.message_id, answer.part, now_ms) for answer in doubtful))
        ended = {(row[0], row[1], row[3]): InFlight(*row) for row in await turn_sql.END_INFLIGHT.rows(
            tx, sorted({(answer.message_id, answer.part, answer.attempt) for answer in settled}))}
        refs = await receipts.upsert(tx, self.carrier.id, self.carrier.id_format, settled, arrived, now_ms)
        locked = await turn_sql.lock_messages(tx, {answer.message_id for answer in settled} | {ref.message_id for ref in refs if ref.message_id})
        changes = Changes(now_ms, {row[0]: MessageRow(*row) for row in locked})
        for answer in settled:
            if answer.message_id in changes.messages:
                needless = self.carrier.receipts == "last" and answer.parts.bit_length() < changes.messages[answer.message_id].segments
                settle_answer(changes, answer, ended.get((answer.message_id, answer.part, answer.attempt)), receipt_needless=needless)
        for ref in refs:
            row = changes.messages.get(ref.message_id or "")
            if row is not None and ref.state is not None and agrees(row.recipient, ref.recipient):
                self.ids_match |= receipts.tells_base(ref.ref)
                settle_receipt(row, ref.parts or 0, ReceiptState(ref.state), ref.error, now_ms)
        await store_changes(tx, self.carrier.id, changes)

    # what goes out

    async def _claim(self, tx: HotTx, room: int, now_ms: int) -> tuple[list[Submission], list[Submission]]:
        """Submissions to write now, and those claimed beside them that have no room yet. First comes what was claimed before."""
        writing = [self._buffer.popleft() for _ in range(min(room, len(self._buffer)))]
        if writing:
            held = {(row[0], row[1]) for row in await turn_sql.SUBMITTING.rows(tx, [(s.message_id, s.part, now_ms) for s in writing])}
            # the parts of a message that has failed meanwhile stay here: they end as if the wire had not taken them
            self.answered([Answer(s.message_id, s.part, s.parts, s.attempt, Outcome.UNSPENT) for s in writing if (s.message_id, s.part) not in held])
            writing = [s for s in writing if (s.message_id, s.part) in held]
        room -= len(writing)
        if room <= 0 or self._buffer:
            return writing, []
        attempts = await self._take_runs(tx, room, now_ms)
        fresh = self._prepare(await turn_sql.outgoing(tx, list(attempts)), attempts, now_ms)
        claimed = {(row[0], row[1]) for row in await turn_sql.CLAIM.rows(tx, [
            (s.message_id, s.part, s.parts, self.carrier.id, self._worker, s.attempt, "submitting" if place < room else "claimed",
             attempts[s.message_id][6], attempts[s.message_id][9], now_ms) for place, s in enumerate(fresh)])}
        now, later = fresh[:room], fresh[room:]
        return (writing + [s for s in now if (s.message_id, s.part) in claimed], [s for s in later if (s.message_id, s.part) in claimed])

    async def _take_runs(self, tx: HotTx, room: int, now_ms: int) -> dict[str, Any]:
        """The messages next in line, each with its row of the queue; a run that is not taken whole leaves its rest behind, further back."""
        taken: dict[str, Any] = {}
        runs, rests = [], []
        for run in await turn_sql.next_runs(tx, self.carrier.id, now_ms, room, self._worker):
            if room <= 0:
                break
            carrier_id, rank_us, first_id, count, *others = run
            some = min(count, max(1, room // run[5]))
            first = int(first_id, 16)
            for number in range(first, first + some):
                taken[ids.raw_of_number(number)] = run
            runs.append((carrier_id, rank_us, first_id))
            if some < count:
                rests.append((carrier_id, rank_us + some * run[5] * FAIR_SPACING_US, ids.raw_of_number(first + some), count - some, *others))
            room -= some * run[5]
        await turn_sql.TAKE_RUNS.rows(tx, runs)
        await turn_sql.QUEUE.rows(tx, rests)
        return taken

    def _prepare(self, rows: list[Any], attempts: dict[str, Any], now_ms: int) -> list[Submission]:
        """Splits the messages into submissions, leaving out the parts that a carrier has accepted already."""
        link = self.link
        assert link is not None
        accepted = {row[0]: row[2] for row in rows}
        facts = {row[0]: row for row in rows}
        submissions = []
        for message_id in attempts:  # in the queue's order, which the look-up does not keep
            if message_id not in facts:
                continue
            _, recipient, _, sender, text, encoding, segments, kind, _ = facts[message_id]
            run = attempts[message_id]
            message = Outgoing(message_id, sender, str(recipient), text, encoding, segments, max(1, (run[9] - now_ms) // 1_000),
                               int(kind == "otp"), run[7])
            submissions += [s for s in link.prepare(message) if s.parts & ~accepted[message_id]]
        return submissions


