"""Records what came in from a carrier: its answers to submissions, and its receipts.

An answer ends its submission, or leaves it in doubt. Answers and receipts meet by the carrier's id,
whichever comes first, and change their messages.
"""

from collections.abc import Mapping, Sequence

from heliograph.carriers import Receipt, SubmitAnswer, SubmitOutcome
from heliograph.database.hot import HotTx
from heliograph.messages.carrier import match, refs
from heliograph.messages.carrier.inflight_sql import (
    DOUBT,
    END_INFLIGHT,
    InFlight,
    Try,
    TryAt,
)
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.carrier.settle import settle_answer
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes import message_lock
from heliograph.messages.changes.collect import Changes


async def record(
    tx: HotTx,
    carrier: CarrierFacts,
    worker: int,
    answers: Sequence[SubmitAnswer],
    arrived: Sequence[Receipt],
    now_ms: int,
) -> int:
    """Stores what answers and receipts say of messages, and changes these. `worker` is the number
    of the process whose submissions were answered. Returns how much has matched that proves the
    format in which the carrier's ids are read (Matching.evidence).
    """
    unanswered = [answer for answer in answers if answer.outcome is SubmitOutcome.UNANSWERED]
    settled = [answer for answer in answers if answer.outcome is not SubmitOutcome.UNANSWERED]
    await DOUBT.rows(
        tx,
        sorted(
            TryAt(answer.message_id, answer.part, answer.attempt, worker, now_ms)
            for answer in unanswered
        ),
    )
    ended = await _end_submissions(tx, worker, settled)
    known = await refs.upsert(tx, carrier.id, carrier.id_format, settled, arrived, now_ms)
    locked = await message_lock.lock_messages(
        tx,
        {answer.message_id for answer in settled}
        | {ref.message_id for ref in known if ref.message_id},
    )
    changes = Changes.of(now_ms, locked)
    _settle(changes, carrier, settled, ended)
    matching = await match.match(tx, carrier, known, changes)
    await match.set_aside(tx, carrier.id, matching.foreign, now_ms)
    await store_changes(tx, carrier.id, changes)
    return matching.evidence


async def _end_submissions(
    tx: HotTx, worker: int, settled: Sequence[SubmitAnswer]
) -> dict[tuple[str, int, int], InFlight]:
    """Ends the submissions that were answered. Returns the submissions that were in flight, by
    message, part and attempt.
    """
    tries = {Try(answer.message_id, answer.part, answer.attempt, worker) for answer in settled}
    return {
        (was.message_id, was.part, was.attempt): was
        for was in await END_INFLIGHT.rows(tx, sorted(tries))
    }


def _settle(
    changes: Changes,
    carrier: CarrierFacts,
    settled: Sequence[SubmitAnswer],
    ended: Mapping[tuple[str, int, int], InFlight],
) -> None:
    for answer in settled:
        if answer.message_id in changes.messages:
            needless = (
                carrier.receipts == "last"
                and answer.parts.bit_length() < changes.messages[answer.message_id].segments
            )
            settle_answer(
                changes,
                answer,
                ended.get((answer.message_id, answer.part, answer.attempt)),
                receipt_needless=needless,
            )
