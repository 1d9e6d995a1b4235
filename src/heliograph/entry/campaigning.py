"""The campaigns of one process, as long as they are its own to look after."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from heliograph import campaigns
from heliograph.base import clock, ids
from heliograph.base.db import Database
from heliograph.base.faults import told
from heliograph.campaigns.campaign import ID_PREFIX
from heliograph.campaigns.jobs import IDLE_LOOK_S, LOOK_S, Jobs

START_EVERY_S: Final = 1.0  # whose time has come is looked for

log = structlog.get_logger(__name__)


async def keep_campaigning(db: Database, jobs: Jobs, is_ours: Callable[[], bool]) -> None:
    """Runs until cancelled. `is_ours`: whether it is for this process to do."""
    starting: asyncio.Task[None] | None = None
    looked_s = 0.0
    at_work = False
    try:
        while True:
            if is_ours():
                if (starting is None or starting.done()) and clock.monotonic_s() - looked_s >= START_EVERY_S:
                    looked_s = clock.monotonic_s()
                    starting = asyncio.create_task(_start_due(db))
                try:
                    at_work = await jobs.once()
                except Exception as error:  # noqa: BLE001  whatever it was, it is tried again
                    log.error("campaigns_not_looked_at", **told(error))
            await asyncio.sleep(LOOK_S if at_work else IDLE_LOOK_S)
    finally:
        if starting is not None:
            starting.cancel()


async def _start_due(db: Database) -> None:
    """Beside what is being sent: a large audience takes seconds to be written down."""
    try:
        for campaign_id in await asyncio.to_thread(campaigns.start_due, db):
            log.info("campaign_started", campaign=ids.text_of_raw(ID_PREFIX, campaign_id))
    except Exception as error:  # noqa: BLE001  whatever it was, it is tried again
        log.error("campaigns_not_started", **told(error))
