"""The campaigns of one process, as long as they are its own to look after."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from heliograph import campaigns
from heliograph.base import cancelling, clock, ids
from heliograph.base.logged_errors import told
from heliograph.campaigns.campaign import ID_PREFIX
from heliograph.campaigns.jobs import Jobs
from heliograph.database.database import Database

LOOK_S: Final = 0.2  # while there are any
GLANCE_S: Final = 1.0  # while there are none; and whose time has come is seen as often

log = structlog.get_logger(__name__)


async def keep_campaigning(db: Database, jobs: Jobs, is_ours: Callable[[], bool]) -> None:
    """Runs until cancelled. `is_ours`: whether it is for this process to do."""
    starting: asyncio.Task[None] | None = None
    glanced_s = float("-inf")
    at_work = False
    try:
        while True:
            if is_ours():
                try:
                    if not at_work or clock.monotonic_s() - glanced_s >= GLANCE_S:
                        glanced_s = clock.monotonic_s()
                        at_work, due = await jobs.glance()
                        if due and (starting is None or starting.done()):
                            starting = asyncio.create_task(_start_due(db))
                    if at_work:
                        at_work = await jobs.once()
                except Exception as error:  # noqa: BLE001  whatever it was, it is tried again
                    cancelling.obey(error)
                    log.error("campaigns_not_looked_at", **told(error))
            await asyncio.sleep(LOOK_S if at_work else GLANCE_S)
    finally:
        if starting is not None:
            starting.cancel()


async def _start_due(db: Database) -> None:
    """Beside what is being sent: a large audience takes seconds to be written down."""
    try:
        for campaign_id in await asyncio.to_thread(campaigns.start_due, db):
            log.info("campaign_started", campaign=ids.text_of_raw(ID_PREFIX, campaign_id))
    except Exception as error:  # noqa: BLE001  whatever it was, it is tried again
        cancelling.obey(error)
        log.error("campaigns_not_started", **told(error))
