"""Roll-ups say what became of messages, by quarter of an hour, country, sender, type and campaign.
A report costs the same whether it is about ten messages or ten million.

The roll-ups of a quarter of an hour are a function of the messages that were accepted in it.
Whoever changes one of these marks its quarter, in the same transaction, and marked quarters are
counted anew a few seconds later (`reports/count_rollups.py`). A mark lasts for some seconds, in
which the process marks the quarter no more: so a carrier's turn, which is a hot path, rarely has
anything to store.
"""

import os
from collections.abc import Iterable
from typing import Final

from heliograph.base import clock
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Insert, Row, SmallInt
from heliograph.messages.changes.collect import MessageRow
from heliograph.messages.groups import SLOTS
from heliograph.messages.tables import QUARTER_MS

MARKED_FOR_MS: Final = 5_000
# A mark of which less is left is renewed: a transaction that relies on it is committed while it
# lasts, or shortly after (FINAL_AFTER_MS in reports/count_rollups.py).
RENEWED_AT_MS: Final = 1_000
# An id begins with 48 bits of milliseconds. Messages whose ids share the first 32 bits were
# accepted within this time.
_SLICE_DIGITS: Final = 8
_SLICE_MS: Final = 1 << 16


class _RollupMark(Row, frozen=True):
    quarter_ms: BigInt
    slot: SmallInt
    until_ms: BigInt


_MARK: Final = Insert(
    "rollup_marks",
    _RollupMark,
    """ON CONFLICT (quarter_ms, slot) DO UPDATE SET until_ms = excluded.until_ms
        WHERE rollup_marks.until_ms < excluded.until_ms""",
)


async def mark(tx: HotTx, rows: Iterable[MessageRow]) -> None:
    """Marks the quarters of an hour in which the changed ones of these messages were accepted, but
    for those that this process has marked a moment ago.
    """
    now_ms = clock.now_ms()  # the caller's may be from before its first batch
    due = [
        quarter_ms
        for quarter_ms in sorted(_quarters(rows))
        if tx.known.get(quarter_ms, 0) < now_ms + RENEWED_AT_MS
    ]
    if due:
        until_ms = now_ms + MARKED_FOR_MS
        slot = os.getpid() % SLOTS
        await _MARK.rows(tx, [_RollupMark(quarter_ms, slot, until_ms) for quarter_ms in due])
        tx.learned.update(dict.fromkeys(due, until_ms))


def _quarters(rows: Iterable[MessageRow]) -> set[int]:
    slices = {row.id[:_SLICE_DIGITS] for row in rows if row.changed}
    begun_ms = [int(digits, 16) * _SLICE_MS for digits in slices]
    return {
        at_ms - at_ms % QUARTER_MS
        for start_ms in begun_ms
        for at_ms in (start_ms, start_ms + _SLICE_MS - 1)
    }
