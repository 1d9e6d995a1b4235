"""Samples of the service's figures are taken every ten seconds, by the process that does the common
work.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.database.leases import Lease
from heliograph.monitoring import MeasuredQueue, Sampler

EVERY_S: Final = 10.0


async def keep_sampling(
    db: Database,
    lease: Lease,
    is_ours: Callable[[], bool],
    measured: Callable[[], Mapping[int, MeasuredQueue]],
) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do, and
    `measured` what was measured last of each carrier. A process that has a SQLite file to itself
    shows no beat, so it tells its own figures here.
    """
    sampler: Sampler | None = None

    async def sample() -> None:
        nonlocal sampler
        if not is_ours():
            sampler = None  # what another one counts meanwhile is not counted again
            return
        if not db.postgresql:
            await asyncio.to_thread(lease.beat)
        sampler = sampler or Sampler()
        await asyncio.to_thread(take_sample, db, sampler, measured())

    await repeat(sample, wait=EVERY_S, first_after_s=0.0, fault="sample_not_taken")


def take_sample(db: Database, sampler: Sampler, measured: Mapping[int, MeasuredQueue]) -> None:
    """Takes one sample."""
    with db.write() as tx:
        sampler.take(tx, measured, clock.now_ms())
