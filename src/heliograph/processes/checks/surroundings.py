"""Looks every minute at what is around a process, as `heliograph doctor` does. The process tells
with its beat what is wrong there, so the console says it, too.
"""

import asyncio
from typing import Final

from heliograph.base.periodic import repeat
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.monitoring import CheckResult
from heliograph.processes.checks.surrounding_findings import examine_surroundings

EVERY_S: Final = 60.0
FIRST_AFTER_S: Final = 2.0  # a start has better things to do


class Surroundings:
    """Holds what was found wrong around this process when it looked last."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self._settings = settings
        self.found: list[CheckResult] = []

    async def keep(self) -> None:
        """Runs until it is cancelled."""
        await repeat(
            self._look,
            wait=EVERY_S,
            first_after_s=FIRST_AFTER_S,
            fault="surroundings_not_looked_at",
            level="warning",
        )

    async def _look(self) -> None:
        self.found = await asyncio.to_thread(examine_surroundings, self._db, self._settings)
