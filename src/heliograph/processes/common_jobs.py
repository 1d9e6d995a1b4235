"""Starts the jobs that one process at a time does for all of them, such as campaigns, retention
and alerts.

They work in nearly every room. So a process loads this file when its turn has come
(`processes/sending.py`), and most processes never do.
"""

import asyncio
from collections.abc import Callable, Mapping

from heliograph.base.settings import Settings
from heliograph.campaigns.advance import Advancer
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.leases import Lease
from heliograph.jobs.alerts import keep_alerting
from heliograph.jobs.campaigns import keep_campaigning
from heliograph.jobs.carrier_figures import keep_counting
from heliograph.jobs.contact_imports import keep_importing
from heliograph.jobs.inbound_parts import keep_completing
from heliograph.jobs.ledger_hours import keep_adding_up
from heliograph.jobs.portal_views import keep_ending_views
from heliograph.jobs.proofs import keep_proving
from heliograph.jobs.pruning import keep_pruning
from heliograph.jobs.rate_sheets import keep_applying
from heliograph.jobs.retention import keep_retaining
from heliograph.jobs.roll_up import keep_rolling_up
from heliograph.jobs.samples import keep_sampling
from heliograph.messages.accept import Chunker
from heliograph.messages.queue import FairQueue
from heliograph.messages.retention import read_retention
from heliograph.monitoring import MeasuredQueue
from heliograph.processes.roles import is_active_scheduler


def start(
    db: Database,
    settings: Settings,
    lease: Lease,
    *,
    cache: ConfigCache,
    queue: FairQueue,
    wake: Callable[[set[int]], None],
    measured: Callable[[], Mapping[int, MeasuredQueue]],
) -> list[asyncio.Task[None]]:
    """Starts all of them, each as a task that runs until it is cancelled. A job rests while
    another process does it. `wake` is told which carriers got work, and `measured` returns what
    was measured last of each carrier.
    """

    def is_ours() -> bool:
        return is_active_scheduler(lease)

    retention = read_retention(settings.erase_after_days, settings.delete_after_days)
    jobs = (
        keep_pruning(db, is_ours, retention.texts_ms),
        keep_importing(db, is_ours),
        keep_applying(db, is_ours),
        keep_rolling_up(db, is_ours),
        keep_counting(db, is_ours, retention.texts_ms),
        keep_ending_views(db, is_ours),
        keep_sampling(db, lease, is_ours, measured),
        keep_alerting(db, settings, is_ours),
        keep_adding_up(db, is_ours),
        keep_completing(db, is_ours),
        keep_proving(db, is_ours),
        keep_retaining(db, retention, is_ours),
        keep_campaigning(db, Advancer(db, Chunker(cache, queue), wake), is_ours),
    )
    return [asyncio.create_task(job) for job in jobs]
