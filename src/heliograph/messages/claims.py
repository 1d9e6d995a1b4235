"""What goes out next: the runs at the head of a carrier's queue become submissions, each with its row in flight."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import structlog

from heliograph.base import ids
from heliograph.base.faults import told
from heliograph.base.hot import HotTx
from heliograph.carriers import Answer, Link, Outcome, Outgoing, Submission
from heliograph.messages import turn_sql
from heliograph.messages.fair import BULK_FROM_US, FAIR_SPACING_US
from heliograph.messages.read import OTP
from heliograph.messages.receipts import CarrierFacts
from heliograph.messages.states import all_parts

log = structlog.get_logger(__name__)


class Claim(NamedTuple):
    """What a turn has claimed; all of it is committed as in flight before anything is done with it."""

    writing: list[Submission]
    kept: list[Submission]  # parts of a message that is larger than the window: there is no room yet
    refused: list[Answer]  # of messages that cannot be encoded: the next turn records them as if the carrier had refused them


NOTHING: Final = Claim([], [], [])


async def claim(tx: HotTx, link: Link, carrier: CarrierFacts, worker: int, room: int, now_ms: int, unsealed: Callable[[str], str]) -> Claim:
    """Claims the messages next in line, for as many submissions as there is room for. `unsealed`: the text of a one-time password, of the stored."""
    attempts = await _take_runs(tx, carrier.id, worker, room, now_ms)
    fresh, refused = _prepare(link, carrier, await turn_sql.outgoing(tx, list(attempts)), attempts, now_ms, unsealed)
    rows: list[Submission | Answer] = [*fresh, *refused]
    states = ["submitting" if place < room else "claimed" for place in range(len(fresh))] + ["claimed"] * len(refused)
    claimed = {(row[0], row[1]) for row in await turn_sql.CLAIM.rows(tx, [
        (s.message_id, s.part, s.parts, carrier.id, worker, s.attempt, state, attempts[s.message_id][6], attempts[s.message_id][9], now_ms)
        for s, state in zip(rows, states, strict=True)])}
    if tx.postgresql:
        claimed -= await _others_say(tx, [row for row in rows if (row.message_id, row.part) in claimed], attempts, worker)
    return Claim([s for s in fresh[:room] if (s.message_id, s.part) in claimed], [s for s in fresh[room:] if (s.message_id, s.part) in claimed],
                 [answer for answer in refused if (answer.message_id, answer.part) in claimed])


async def _others_say(tx: HotTx, rows: list[Submission | Answer], attempts: dict[str, Any], worker: int) -> set[tuple[str, int]]:
    """Parts whose claim is given up, of messages that came back: parts of one can be with two processes at once.

    The message is locked, so that nobody settles it before this claim stands, and read again, for an answer may have been stored since the first
    look. Whom somebody settles just now is not waited for: it goes back to where it was in the queue."""
    back = [row for row in rows if attempts[row.message_id][5] > 1 and attempts[row.message_id][1] < BULK_FROM_US]
    if not back:
        return set()
    accepted = {row[0]: row[2] for row in await turn_sql.outgoing_locked(tx, sorted({row.message_id for row in back}))}
    given_up = [row for row in back if row.message_id not in accepted or row.parts & accepted[row.message_id]]
    await turn_sql.END_INFLIGHT.rows(tx, sorted((row.message_id, row.part, row.attempt, worker) for row in given_up))
    await turn_sql.QUEUE_AGAIN.rows(tx, [
        (run[0], run[1], message_id, 1, *run[4:]) for message_id, run in attempts.items()
        if message_id in {row.message_id for row in given_up} - accepted.keys()])
    return {(row.message_id, row.part) for row in given_up}


async def _take_runs(tx: HotTx, carrier_id: int, worker: int, room: int, now_ms: int) -> dict[str, Any]:
    """The messages next in line, each with its row of the queue; a run that is not taken whole leaves its rest behind, further back."""
    taken: dict[str, Any] = {}
    runs, rests = [], []
    for run in await turn_sql.next_runs(tx, carrier_id, now_ms, room, worker):
        if room <= 0:
            break
        _, rank_us, first_id, count, *others = run
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


def _prepare(link: Link, carrier: CarrierFacts, rows: list[Any], attempts: dict[str, Any], now_ms: int,
             unsealed: Callable[[str], str]) -> tuple[list[Submission], list[Answer]]:
    """Splits the messages into submissions, leaving out the parts that a carrier has accepted already; and those that cannot be encoded."""
    facts = {row[0]: row for row in rows}
    submissions: list[Submission] = []
    refused: list[Answer] = []
    for message_id in attempts:  # in the queue's order, which the look-up does not keep
        if message_id not in facts:
            continue
        _, recipient, accepted, sender, text, encoding, segments, kind, _ = facts[message_id]
        run = attempts[message_id]
        try:
            message = Outgoing(message_id, sender, str(recipient), unsealed(text) if kind == OTP else text, encoding, segments,
                               max(1, (run[9] - now_ms) // 1_000), int(kind == OTP), run[7])
            submissions += [s for s in link.prepare(message) if s.parts & ~accepted]
        except Exception as error:  # noqa: BLE001  whatever it was, it is this message's fault alone: those beside it go out
            log.error("message_not_encoded", carrier=carrier.name, message=ids.text_of_raw("msg", message_id), **told(error))
            missing = all_parts(segments) & ~accepted
            refused.append(Answer(message_id, (missing & -missing).bit_length(), missing, run[7], Outcome.REFUSED))
    return submissions, refused
