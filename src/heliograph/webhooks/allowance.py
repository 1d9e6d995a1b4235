"""How much of a process deliveries may take while it hands messages to carriers at full speed: a POST costs several times what a message does."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from heliograph.base import clock

POSTS_PER_S: Final = 500  # beside busy carriers: less than a tenth of a process
BUSY_PER_S: Final = 1_500  # claims, answers and receipts, three a message: what a process does besides in any case
TICK_S: Final = 0.02
LOOK_S: Final = 0.25  # how often at most it is judged whether carriers are busy


class Posting(Protocol):
    """Whoever has something to post."""

    def post_next(self) -> bool:
        """Begins one POST. False: there is no more that could be posted now."""
        ...


class Allowance:
    """`moved`: how much this process's carriers have moved since it began. Who may not post at once is asked later, each in turn for one POST."""

    def __init__(self, moved: Callable[[], int]) -> None:
        self._moved = moved
        self._seen, self._seen_s = moved(), clock.monotonic_s()
        self._waiting: dict[Posting, None] = {}
        self._asked = asyncio.Event()
        self.is_limited = False

    def ask(self, posting: Posting) -> None:
        self._waiting[posting] = None
        self._asked.set()

    async def run(self) -> None:
        """Until cancelled."""
        owed = 0.0
        while True:
            await self._asked.wait()
            began_s = clock.monotonic_s()
            await asyncio.sleep(TICK_S)
            self.look()
            owed = min(owed + (clock.monotonic_s() - began_s) * POSTS_PER_S, POSTS_PER_S * LOOK_S)
            while self._waiting and (owed >= 1 or not self.is_limited):
                posting = next(iter(self._waiting))
                del self._waiting[posting]
                if posting.post_next():
                    self._waiting[posting] = None
                    owed -= self.is_limited
            if not self._waiting:
                self._asked.clear()

    def look(self) -> None:
        """Whether carriers are busy."""
        now_s, moved = clock.monotonic_s(), self._moved()
        if now_s - self._seen_s >= LOOK_S:
            self.is_limited = (moved - self._seen) / (now_s - self._seen_s) >= BUSY_PER_S
            self._seen, self._seen_s = moved, now_s
