"""Measures how late the event loop does what is due. While the loop is blocked, nobody is
answered.
"""

import asyncio
import time
from typing import Final

from heliograph.base import metrics

# twenty looks a second cost nothing, and most of what holds the loop for long meets one
LOOK_S: Final = 0.05


async def watch_loop_delay() -> None:
    """Runs until it is canceled. A timer's own roundness, up to 1 ms, is in what it counts."""
    while True:
        due_s = time.perf_counter() + LOOK_S
        await asyncio.sleep(LOOK_S)
        metrics.LOOP_DELAY.observe(max(0.0, time.perf_counter() - due_s))
