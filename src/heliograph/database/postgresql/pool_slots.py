"""Lets transactions wait for a connection of a pool."""

import asyncio
from collections import deque

from heliograph.database.commits import Unconfirmed


class Slots:
    """Gives out the connections of a pool as slots, in order of arrival. A waiter can be refused,
    which a pool cannot do.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Waits for a free slot, and takes it. Raises Unconfirmed when commits are found
        unconfirmed meanwhile: whoever holds the connections may hold them for long.
        """
        if self._free:
            self._free -= 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled() and slot.exception() is None:
                self.give_back()
            raise

    def give_back(self) -> None:
        """Gives the slot to the next one that waits."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1

    def refuse_waiting(self) -> None:
        """Refuses all that wait for a slot: their `take` raises Unconfirmed."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_exception(Unconfirmed())
