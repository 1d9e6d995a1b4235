"""Measures how late the event loop does what is due. While the loop is blocked, nobody is
answered.
"""

import asyncio
import time
from typing import Final

from heliograph.base import metrics
from heliograph.base.periodic import repeat

# twenty looks a second cost nothing, and most of what holds the loop for long meets one
LOOK_S: Final = 0.05


async def watch_loop_delay() -> None:
    """Runs until it is canceled."""
    await repeat(_look, wait=0.0, first_after_s=0.0, fault=None)


async def _look() -> None:
    """Measures how late a timer was. The up to 1 ms by which any timer is late counts too."""
    due_s = time.perf_counter() + LOOK_S
    await asyncio.sleep(LOOK_S)
    metrics.LOOP_DELAY.observe(max(0.0, time.perf_counter() - due_s))
