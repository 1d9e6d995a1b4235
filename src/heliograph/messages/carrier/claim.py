"""Claims what is submitted next: the runs at the head of a carrier's queue become submissions, each
with its row of `inflight`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from heliograph.base import ids
from heliograph.base.log import Log, error_fields
from heliograph.carriers import Link, Outgoing, Submission, SubmitAnswer, SubmitOutcome
from heliograph.database.hot import HotTx
from heliograph.messages.carrier import messages_sql
from heliograph.messages.carrier.inflight_sql import CLAIM, END_INFLIGHT, Claimed, Try
from heliograph.messages.carrier.messages_sql import OutgoingMessage
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.queue.rank import BULK_FROM_US, FAIR_SPACING_US
from heliograph.messages.queue.sql import (
    NEXT_RUNS,
    QUEUE,
    QUEUE_AGAIN,
    TAKE_RUNS,
    NextRuns,
    QueuedRun,
    RunKey,
)
from heliograph.messages.read.message import MESSAGE_PREFIX, OTP
from heliograph.messages.states import CLAIMED, SEGMENT, SUBMITTING, all_parts

log = Log(__name__)


class Claim(NamedTuple):
    """Holds what a turn has claimed. All of it is committed as in flight before anything is done
    with it.
    """

    writing: list[Submission]
    # parts of a message that is larger than the window: there is no room yet
    deferred: list[Submission]
    # of messages that cannot be encoded: the next turn records them as if the carrier had refused
    # them
    refused: list[SubmitAnswer]


NOTHING: Final = Claim([], [], [])
_WITH_ROOM: Final = SEGMENT.begun_as(SUBMITTING)
_WITHOUT: Final = SEGMENT.begun_as(CLAIMED)


async def claim(
    tx: HotTx,
    link: Link,
    carrier: CarrierFacts,
    worker: int,
    room: int,
    now_ms: int,
    unsealed: Callable[[str], str],
) -> Claim:
    """Claims the messages next in line, for as many submissions as there is room for. `unsealed`
    gives the text of a one-time password, from the stored one.
    """
    attempts = await _take_runs(tx, carrier.id, worker, room, now_ms)
    fresh, refused = _prepare(
        link, carrier, await messages_sql.outgoing(tx, list(attempts)), attempts, now_ms, unsealed
    )
    rows: list[Submission | SubmitAnswer] = [*fresh, *refused]
    states = [_WITH_ROOM if place < room else _WITHOUT for place in range(len(fresh))] + [
        _WITHOUT
    ] * len(refused)
    claimed = {
        (part.message_id, part.part)
        for part in await CLAIM.rows(
            tx,
            [
                Claimed(
                    s.message_id,
                    s.part,
                    s.parts,
                    carrier_id=carrier.id,
                    worker=worker,
                    attempt=s.attempt,
                    state=state,
                    prefix=attempts[s.message_id].prefix,
                    expires_at_ms=attempts[s.message_id].expires_at_ms,
                    since_ms=now_ms,
                )
                for s, state in zip(rows, states, strict=True)
            ],
        )
    }
    if tx.postgresql:
        claimed -= await _give_up_contested(
            tx, [row for row in rows if (row.message_id, row.part) in claimed], attempts, worker
        )
    return Claim(
        [s for s in fresh[:room] if (s.message_id, s.part) in claimed],
        [s for s in fresh[room:] if (s.message_id, s.part) in claimed],
        [answer for answer in refused if (answer.message_id, answer.part) in claimed],
    )


async def _give_up_contested(
    tx: HotTx, rows: list[Submission | SubmitAnswer], attempts: dict[str, QueuedRun], worker: int
) -> set[tuple[str, int]]:
    """Gives up the claim of parts that another process may be settling, and returns these parts.
    They are parts of messages that came back to the queue: two processes can have parts of one
    message at once. Each such message is locked, so that nobody settles it before this claim is
    stored. It is read again, because an answer may have been stored since the first look. A message
    that another process has locked is not waited for: it goes back to its place in the queue.
    """
    back = [
        row
        for row in rows
        if attempts[row.message_id].segments > 1 and attempts[row.message_id].rank_us < BULK_FROM_US
    ]
    if not back:
        return set()
    accepted = {
        message.id: message.parts_accepted
        for message in await messages_sql.lock_outgoing(
            tx, sorted({row.message_id for row in back})
        )
    }
    given_up = [
        row
        for row in back
        if row.message_id not in accepted or row.parts & accepted[row.message_id]
    ]
    await END_INFLIGHT.rows(
        tx, sorted(Try(row.message_id, row.part, row.attempt, worker) for row in given_up)
    )
    settled_now = {row.message_id for row in given_up} - accepted.keys()
    await QUEUE_AGAIN.rows(
        tx,
        [
            replace(run, first_id=message_id, messages=1)
            for message_id, run in attempts.items()
            if message_id in settled_now
        ],
    )
    return {(row.message_id, row.part) for row in given_up}


async def _take_runs(
    tx: HotTx, carrier_id: int, worker: int, room: int, now_ms: int
) -> dict[str, QueuedRun]:
    """Returns the messages next in line, each with its row of the queue. A run that is not taken
    whole leaves its rest behind, further back.
    """
    taken: dict[str, QueuedRun] = {}
    runs, rests = list[RunKey](), list[QueuedRun]()
    for run in await NEXT_RUNS.rows(tx, NextRuns(carrier_id, now_ms, room, worker)):
        if room <= 0:
            break
        some = min(run.messages, max(1, room // run.segments))
        first = int(run.first_id, 16)
        for number in range(first, first + some):
            taken[ids.raw_of_number(number)] = run
        runs.append(run.key)
        if some < run.messages:
            rests.append(
                run.without_first(some, run.rank_us + some * run.segments * FAIR_SPACING_US)
            )
        room -= some * run.segments
    await TAKE_RUNS.rows(tx, runs)
    await QUEUE.rows(tx, rests)
    return taken


def _prepare(
    link: Link,
    carrier: CarrierFacts,
    messages: list[OutgoingMessage],
    attempts: dict[str, QueuedRun],
    now_ms: int,
    unsealed: Callable[[str], str],
) -> tuple[list[Submission], list[SubmitAnswer]]:
    """Splits the messages into submissions, leaving out the parts that a carrier has
    accepted already; and those that cannot be encoded.
    """
    facts = {message.id: message for message in messages}
    submissions: list[Submission] = []
    refused: list[SubmitAnswer] = []
    for message_id in attempts:  # in the queue's order, which the look-up does not keep
        if message_id not in facts:
            continue
        stored, run = facts[message_id], attempts[message_id]
        validity_s = max(1, (run.expires_at_ms - now_ms) // 1_000)
        try:
            text = unsealed(stored.text) if stored.type == OTP else stored.text
            message = Outgoing(
                message_id,
                stored.sender,
                str(stored.recipient),
                text=text,
                encoding=stored.encoding,
                segments=stored.segments,
                validity_s=validity_s,
                priority=int(stored.type == OTP),
                attempt=run.attempt,
            )
            submissions += [s for s in link.prepare(message) if s.parts & ~stored.parts_accepted]
        # whatever it was, it is this message's fault alone: those beside it go out
        except Exception as error:  # noqa: BLE001
            log.error(
                "message_not_encoded",
                carrier=carrier.name,
                message=ids.text_of_raw(MESSAGE_PREFIX, message_id),
                **error_fields(error),
            )
            missing = all_parts(stored.segments) & ~stored.parts_accepted
            refused.append(
                SubmitAnswer(
                    message_id,
                    (missing & -missing).bit_length(),
                    missing,
                    run.attempt,
                    SubmitOutcome.REFUSED,
                )
            )
    return submissions, refused
