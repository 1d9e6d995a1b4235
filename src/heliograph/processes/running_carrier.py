"""Runs one carrier in a process: its link, its turn and its receiver, and how they end."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from heliograph.base import cancelling, clock
from heliograph.carriers import Carrier, Link
from heliograph.carriers.smpp import SmppSettings
from heliograph.messages.carrier.turn import Turn
from heliograph.processes.rate_share import Share

# for outstanding answers when stopping: with unbinding (2 s) and last words (5 s) a process is gone
# within 30 s
GRACE_S: Final = 22.0


@dataclass(slots=True)
class Running:
    """Runs one carrier. Its link is made anew when its connection's settings change, and only
    then.
    """

    carrier: Carrier
    connection: SmppSettings | None
    turn: Turn
    link: Link
    task: asyncio.Task[None]
    share: Share | None = None  # of its rate, where one is agreed
    # stores texts from handsets; what it has not stored when it ends, the carrier sends again
    taking: asyncio.Task[None] | None = None
    # monotonic: when it was last seen bound, or began
    bound_s: float = field(default_factory=clock.monotonic_s)
    # the format in which the unmatched receipts were last read, as far as this process knows
    read_as: str = ""

    def __post_init__(self) -> None:
        self.read_as = self.carrier.parked_read_as

    async def stop(self, finish_s: float | None, grace_s: float = GRACE_S) -> None:
        """Stops claiming, finishes the window, unbinds, records the rest: for so many seconds, or
        however long it takes. It may be called again when it was canceled.
        """
        await self.unbind(grace_s)
        await cancelling.cancel_and_wait(
            self.task, *([self.taking] if self.taking is not None else [])
        )
        await self.turn.finish(finish_s)

    async def unbind(self, grace_s: float) -> None:
        """Stops claiming, waits so long for the window to empty, and unbinds. The database
        has no part in it.
        """
        self.turn.claiming = False
        await self.link.close(grace_s)
