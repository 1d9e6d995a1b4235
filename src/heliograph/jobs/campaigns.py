"""Looks after campaigns in one process, as long as they are its own to look after."""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph import campaigns
from heliograph.base import clock, ids
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.campaigns.advance import Advancer
from heliograph.database.database import Database
from heliograph.messages.read import CAMPAIGN_PREFIX

LOOK_S: Final = 0.2  # while there are any
GLANCE_S: Final = 1.0  # while there are none; and whose time has come is seen as often

log = Log(__name__)


async def keep_campaigning(db: Database, advancer: Advancer, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    looks = _CampaignRounds(db, advancer, is_ours)
    try:
        await repeat(
            looks.advance_campaigns,
            wait=looks.pause,
            first_after_s=0.0,
            fault="campaigns_not_looked_at",
        )
    finally:
        looks.end()


class _CampaignRounds:
    """Looks at the campaigns for one process, at one after the other."""

    def __init__(self, db: Database, advancer: Advancer, is_ours: Callable[[], bool]) -> None:
        self._db = db
        self._advancer = advancer
        self._is_ours = is_ours
        self._starting: asyncio.Task[None] | None = None
        self._glanced_s = float("-inf")
        self._at_work = False

    async def advance_campaigns(self) -> None:
        if not self._is_ours():
            return
        if not self._at_work or clock.monotonic_s() - self._glanced_s >= GLANCE_S:
            self._glanced_s = clock.monotonic_s()
            self._at_work, due = await self._advancer.quick_check()
            if due and (self._starting is None or self._starting.done()):
                self._starting = asyncio.create_task(_start_due(self._db))
        if self._at_work:
            self._at_work = await self._advancer.once()

    async def pause(self) -> None:
        await asyncio.sleep(LOOK_S if self._at_work else GLANCE_S)

    def end(self) -> None:
        if self._starting is not None:
            self._starting.cancel()


async def _start_due(db: Database) -> None:
    """Starts campaigns whose time has come, beside what is being sent: a large audience takes
    seconds to be written down.
    """
    with survive_faults("campaigns_not_started"):
        for campaign_id in await asyncio.to_thread(campaigns.start_due, db):
            log.info("campaign_started", campaign=ids.text_of_raw(CAMPAIGN_PREFIX, campaign_id))
