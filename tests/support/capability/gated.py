"""Holds transactions open, so that others can be seen to wait for them, or not to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from heliograph.database.hot import HotTx
from tests.support.capability.sending import LossyDatabase


class GatedDatabase(LossyDatabase):
    """Holds the hot transactions that begin while `gate` is there open until it is set."""

    gate: asyncio.Event | None = None
    held: asyncio.Event

    @asynccontextmanager
    async def hot(self) -> AsyncIterator[HotTx]:
        gate = self.gate
        async with super().hot() as tx:
            yield tx
            if gate is not None:
                self.held.set()
                await gate.wait()

    def close_gate(self) -> asyncio.Event:
        """Holds the transactions that begin from now on until what it returns is set."""
        self.held, self.gate = asyncio.Event(), asyncio.Event()
        return self.gate
