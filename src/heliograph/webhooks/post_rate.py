"""Decides when deliveries may begin to post. Accounts take turns, a few in each turn of the event
loop. While the process hands messages to carriers at full speed, only a limited number of POSTs
begins each second, because a POST costs several times what a message does.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from heliograph.base import clock
from heliograph.base.periodic import repeat
from heliograph.webhooks.fair_turns import Turns

# begun in one turn of the event loop, about 1 ms of it: between them others are answered, and other
# accounts read
POSTS_AT_ONCE: Final = 8
POSTS_PER_S: Final = 500  # beside busy carriers: less than a tenth of a process
# claims, answers and receipts, three a message: what a process does besides in any case
BUSY_PER_S: Final = 1_500
TICK_S: Final = 0.02
LOOK_S: Final = 0.25  # how often at most it is judged whether carriers are busy


class Posting(Protocol):
    """Begins POSTs for one account when it gets a turn."""

    @property
    def account_id(self) -> str: ...

    def post_next(self) -> bool:
        """Begins one POST. Returns False if nothing more can be posted now."""
        ...


class PostRate:
    """Gives turns, of one POST each, to those who ask, until they have nothing more to post.
    `moved` returns how many submissions, answers and receipts this process's carriers have handled
    since it began.
    """

    def __init__(self, moved: Callable[[], int]) -> None:
        self._moved = moved
        self._last_moved, self._measured_s = moved(), clock.monotonic_s()
        self._waiting: Turns[Posting] = Turns()
        self._asked = asyncio.Event()
        self._owed = 0.0  # POSTs that may be begun while they are limited
        self.is_limited = False

    def ask(self, posting: Posting) -> None:
        self._waiting.add(posting)
        self._asked.set()

    async def run(self) -> None:
        """Gives turns until it is cancelled."""
        await repeat(self._give_turns, wait=self._asked.wait, fault=None)

    async def _give_turns(self) -> None:
        began_s = clock.monotonic_s()
        await asyncio.sleep(TICK_S if self.is_limited else 0)
        self.measure_load()
        earned = (clock.monotonic_s() - began_s) * POSTS_PER_S
        self._owed = min(self._owed + earned, POSTS_PER_S * LOOK_S)
        begun = 0
        while self._waiting and (self._owed >= 1 if self.is_limited else begun < POSTS_AT_ONCE):
            posting = self._waiting.next()
            if posting.post_next():
                self._waiting.add(posting)
                self._owed -= self.is_limited
                begun += 1
        if not self._waiting:
            self._asked.clear()

    def measure_load(self) -> None:
        """Finds out whether carriers are busy."""
        now_s = clock.monotonic_s()
        if now_s - self._measured_s >= LOOK_S:
            moved = self._moved()
            self.is_limited = (moved - self._last_moved) / (now_s - self._measured_s) >= BUSY_PER_S
            self._last_moved, self._measured_s = moved, now_s
