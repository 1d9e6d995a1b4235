"""Holds items in a queue until they are due, a fixed time after they were put in."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

_TIMER_SLACK_S: Final = 0.001  # event loops ring that much too early

T = TypeVar("T")


class DelayQueue(Generic[T]):
    """Keeps items in a queue, from which they can be taken out `delay_s` after they were put in, in
    the same order. It calls `on_due` when something is due.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        delay_s: float,
        on_due: "Callable[[DelayQueue[T]], None]",
    ) -> None:
        self._loop = loop
        self._delay_s = delay_s
        self._on_due = on_due
        self._items: deque[tuple[float, T]] = deque()
        self._timer: asyncio.Handle | None = None
        # some is due that could not be taken: whoever makes that possible looks again
        self._is_overdue = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, items: Sequence[T]) -> None:
        due_s = self._loop.time() + self._delay_s
        self._items.extend([(due_s, item) for item in items])
        self.restart_timer()

    def take_due(self, most: int) -> list[T]:
        now_s = self._loop.time() + _TIMER_SLACK_S
        items = self._items
        due: list[T] = []
        while items and len(due) < most and self._is_due(now_s):
            _, item = items.popleft()
            due.append(item)
        self._is_overdue = bool(items) and self._is_due(now_s)
        return due

    def _is_due(self, now_s: float) -> bool:
        """Returns whether the first item is due. There must be one."""
        due_s, _ = self._items[0]
        return due_s <= now_s

    def take_all(self) -> list[T]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items = [item for _, item in self._items]
        self._items.clear()
        return items

    def restart_timer(self) -> None:
        """Sets the timer to when the first item is due, if there is one and it is not set."""
        if self._timer is None and self._items:
            due_s, _ = self._items[0]
            wait_s = due_s - self._loop.time()
            self._timer = (
                self._loop.call_later(wait_s, self._timer_due)
                if wait_s > 0
                else self._loop.call_soon(self._timer_due)
            )

    def _timer_due(self) -> None:
        self._timer = None
        self._on_due(self)
        if not self._is_overdue:
            self.restart_timer()
