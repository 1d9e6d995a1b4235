"""Receipts whose id is printed in another base than the answers print it: learning it from evidence, and reading what is parked anew.

What matches no message stays parked for 72 h; an answer that comes late still finds it, and so may a doubt (`doubts.py`).
"""

import re
from collections import defaultdict
from typing import Any, Final

from heliograph.base.db import Database
from heliograph.base.hot import HotTx
from heliograph.carriers import ReceiptState
from heliograph.messages import turn_sql
from heliograph.messages.receipts import canonical_of_receipt
from heliograph.messages.settle import Changes, MessageRow, agrees, settle_receipt
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
_KNOWN_REF: Final = """
    SELECT r.ref, m.recipient FROM carrier_refs r JOIN messages m ON m.id = r.message_id WHERE r.carrier_id = $1 AND r.ref = $2"""
_ANY_MATCHED: Final = """
    SELECT 1 FROM carrier_refs WHERE carrier_id = $1 AND message_id IS NOT NULL AND receipt_state IS NOT NULL AND length(ref) > 1 LIMIT 1"""


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
