"""The figures of carriers by country and hour are counted while the service runs."""

from collections.abc import Callable
from typing import Final

from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.base.log import survive_faults
from heliograph.database.database import Database
from heliograph.jobs.periodic_counts import count_periodically
from heliograph.messages.tables import RECEIPTS_KEPT_MS
from heliograph.monitoring import carrier_rollups

EVERY_S: Final = 5.0
AT_ONCE_MS: Final = 100  # of counting in one round
# so many times what a round took, nothing is counted: it keeps a twentieth of a connection busy
RESTS: Final = 20


class CarrierCounter:
    """Counts the quarters of an hour that are due, again and again. It is used in one thread."""

    def __init__(self, db: Database, texts_ms: int | None) -> None:
        """Begins to count. `texts_ms` is for how long texts are kept, and carriers' ids with them;
        None stands for ever.
        """
        self._db = db
        self._kept_ms = min(RECEIPTS_KEPT_MS, texts_ms or RECEIPTS_KEPT_MS)
        self._rests_until_ms = 0

    def count_due(self, now_ms: int, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Counts quarters that are due, the newest first, for a moment. The others wait for the
        next round. One that cannot be counted keeps no other from it.
        """
        if now_ms < self._rests_until_ms:
            return
        began_s, spent_ms = clock.monotonic_s(), 0
        with self._db.read() as tx:
            quarters = carrier_rollups.due(tx, now_ms, self._kept_ms)
        for quarter_ms in quarters:
            if not may_go_on() or spent_ms > AT_ONCE_MS:
                break
            with survive_faults("carrier_figures_not_counted", quarter=rfc3339(quarter_ms)):
                with self._db.read() as tx:
                    found = carrier_rollups.segments_of(tx, quarter_ms)
                with self._db.write() as tx:
                    carrier_rollups.store_segments(tx, quarter_ms, found, now_ms)
            spent_ms = round((clock.monotonic_s() - began_s) * 1_000)
        self._rests_until_ms = now_ms + RESTS * spent_ms


async def keep_counting(
    db: Database, is_ours: Callable[[], bool], texts_ms: int | None = None
) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    await count_periodically(
        CarrierCounter(db, texts_ms), is_ours, every_s=EVERY_S, fault="carrier_figures_not_counted"
    )
