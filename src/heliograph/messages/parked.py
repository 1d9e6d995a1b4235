"""Receipts that came and found no message: those of messages in doubt, and those whose id is printed in another base.

A receipt that matches settles a doubt: by the carrier's id (that is done in the turn), else as the only doubtful message of that
carrier with that recipient. What matches nothing stays parked for 72 h; an answer that comes late still finds it.
"""

import re
from collections import defaultdict
from typing import Any, Final

from heliograph.base import ids
from heliograph.base.db import Database
from heliograph.base.hot import HotTx
from heliograph.carriers import Answer, Outcome, ReceiptState
from heliograph.messages import turn_sql
from heliograph.messages.receipts import canonical_of_receipt
from heliograph.messages.settle import Changes, InFlight, MessageRow, agrees, settle_answer, settle_receipt
from heliograph.messages.store import store_changes

PARKED_MAX: Final = 500  # looked at in one transaction, newest first
EVIDENCE_MIN: Final = 3  # receipts whose id matches in another base, with the recipient agreeing, before the base is believed
LONG_ID: Final = 10_000  # an id this large that matches in another base, with its recipient, is no coincidence: one is evidence enough

_PARKED: Final = """
    SELECT ref, recipient, receipt_state, receipt_error, created_at_ms FROM carrier_refs
    WHERE carrier_id = $1 AND message_id IS NULL AND created_at_ms >= $2 ORDER BY created_at_ms DESC LIMIT $3"""
_PARKED_BEFORE: Final = """
    SELECT ref, recipient, receipt_state, receipt_error, created_at_ms FROM carrier_refs
    WHERE carrier_id = $1 AND message_id IS NULL AND created_at_ms >= $2 AND (created_at_ms, ref) < ($4, $5)
    ORDER BY created_at_ms DESC, ref DESC LIMIT $3"""
_ON_THE_WIRE: Final = """
    SELECT i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms, i.state, m.recipient FROM inflight i
    JOIN messages m ON m.id = i.message_id WHERE i.carrier_id = $1"""
_KNOWN_REF: Final = """
    SELECT r.ref, m.recipient FROM carrier_refs r JOIN messages m ON m.id = r.message_id WHERE r.carrier_id = $1 AND r.ref = $2"""
_ANY_MATCHED: Final = """
    SELECT 1 FROM carrier_refs WHERE carrier_id = $1 AND message_id IS NOT NULL AND receipt_state IS NOT NULL AND length(ref) > 1 LIMIT 1"""


async def match_doubts(db: Database, carrier_id: int, since_ms: int, now_ms: int) -> int:
    """Settles each segment in doubt that is the only one on this carrier's wire to a parked receipt's recipient. Answers how many."""
    async with db.hot() as tx:
        if not await tx.fetch("SELECT 1 FROM inflight WHERE carrier_id = $1 AND state = 'in_doubt' LIMIT 1", carrier_id):
            return 0
        on_the_wire: dict[int, list[Any]] = defaultdict(list)
        for row in await tx.fetch(_ON_THE_WIRE, carrier_id):
            on_the_wire[row[7]].append(row)
        parked = await tx.fetch(_PARKED, carrier_id, since_ms, PARKED_MAX)
        by_recipient: dict[int, list[Any]] = defaultdict(list)
        for receipt in parked:
            by_recipient[receipt[1]].append(receipt)
        pairs = [(receipts[0], on_the_wire[recipient][0]) for recipient, receipts in by_recipient.items()
                 if len(receipts) == 1 and len(on_the_wire.get(recipient, ())) == 1 and _may_match(receipts[0], on_the_wire[recipient][0])]
        await _adopt(tx, carrier_id, pairs, now_ms)
    return len(pairs)


def _may_match(receipt: Any, segment: Any) -> bool:
    """The segment is in doubt, and the receipt came after its message was made: one from before is another message's."""
    return bool(segment[6] == "in_doubt" and receipt[4] >= ids.made_at_ms(int(segment[0], 16)))


async def _adopt(tx: HotTx, carrier_id: int, pairs: list[tuple[Any, Any]], now_ms: int) -> None:
    """The receipt's id becomes the segment's, as if the answer had come, and then the receipt counts."""
    if not pairs:
        return
    ended = {(row[0], row[1]) for row in await turn_sql.END_INFLIGHT.rows(
        tx, sorted((segment[0], segment[1], segment[3]) for _, segment in pairs))}
    pairs = [(receipt, segment) for receipt, segment in pairs if (segment[0], segment[1]) in ended]  # not settled by its answer meanwhile
    await turn_sql.REF_OF_ANSWER.rows(tx, sorted((carrier_id, receipt[0], segment[0], segment[2], now_ms) for receipt, segment in pairs))
    rows = await turn_sql.lock_messages(tx, {segment[0] for _, segment in pairs})
    changes = Changes(now_ms, {row[0]: MessageRow(*row) for row in rows})
    for receipt, segment in pairs:
        was = InFlight(*segment[:6])
        answer = Answer(was.message_id, was.part, was.parts, was.attempt, Outcome.ACCEPTED, ref=receipt[0])
        settle_answer(changes, answer, was, receipt_needless=False)
        settle_receipt(changes.messages[was.message_id], was.parts, ReceiptState(receipt[2]), receipt[3], now_ms)
    await store_changes(tx, carrier_id, changes)


async def learn_id_format(db: Database, carrier_id: int, since_ms: int) -> str | None:
    """How this carrier's receipts print its ids, if the parked ones prove it: `dec` or `hex`; None while there is no proof."""
    async with db.hot() as tx:
        parked = await tx.fetch(_PARKED, carrier_id, since_ms, PARKED_MAX)
        if not parked or await tx.fetch(_ANY_MATCHED, carrier_id):
            return None  # ids have matched as they are: then no other base is believed
        evidence: dict[str, int] = defaultdict(int)
        for ref, recipient, *_ in parked:
            for id_format in ("dec", "hex"):
                other = canonical_of_receipt(ref, id_format)
                known = await tx.fetch(_KNOWN_REF, carrier_id, other) if other != ref else []
                if known and known[0][1] == recipient:
                    evidence[id_format] += EVIDENCE_MIN if int(ref, 16 if id_format == "hex" else 10) >= LONG_ID else 1
        proven = [id_format for id_format, weight in evidence.items() if weight >= EVIDENCE_MIN]
        return proven[0] if len(evidence) == 1 and proven else None


async def rematch(db: Database, carrier_id: int, id_format: str, since_ms: int, now_ms: int) -> int:
    """All parked receipts, read anew once the carrier's format is known. Answers how many found their message."""
    found, before = 0, (now_ms + 1, "")
    while True:
        async with db.hot() as tx:
            parked = await tx.fetch(_PARKED_BEFORE, carrier_id, since_ms, PARKED_MAX, *before)
            found += await _rematch(tx, carrier_id, id_format, parked, now_ms)
        if len(parked) < PARKED_MAX:
            return found
        before = (parked[-1][4], parked[-1][0])


async def _rematch(tx: HotTx, carrier_id: int, id_format: str, parked: list[Any], now_ms: int) -> int:
    moved = []
    for ref, recipient, state, error, _ in parked:
        other = canonical_of_receipt(ref, id_format) if re.fullmatch(r"[0-9a-f]+", ref) else ref
        known = await tx.fetch(_KNOWN_REF, carrier_id, other) if other != ref else []
        if known and agrees(known[0][1], recipient):
            await tx.fetch("DELETE FROM carrier_refs WHERE carrier_id = $1 AND ref = $2", carrier_id, ref)
            moved.append((carrier_id, other, recipient, state, error, now_ms))
    found = await turn_sql.REF_OF_RECEIPT.rows(tx, sorted(moved))
    rows = await turn_sql.lock_messages(tx, {row[1] for row in found if row[1]})
    changes = Changes(now_ms, {row[0]: MessageRow(*row) for row in rows})
    for _, message_id, parts, _, state, error in found:
        settle_receipt(changes.messages[message_id], parts, ReceiptState(state), error, now_ms)
    await store_changes(tx, carrier_id, changes)
    return len(found)
