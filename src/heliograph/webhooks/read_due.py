"""Reads what is due, for all endpoints of a process that want more: one transaction for many of
them, accounts in turns.

A transaction costs as much for one endpoint as for twenty, and those of sends and carriers wait for
the same writer or the same few connections.
"""

import asyncio
from typing import Final, NamedTuple, Protocol

from heliograph.base import clock
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.webhooks.deliver_sql import DONE, NEXT, QueueRead, WaitingEvents
from heliograph.webhooks.fair_turns import Turns

QUEUES_AT_ONCE: Final = 100  # endpoints in one transaction
# that they may have together, unless a single one wants more: what others wait for meanwhile
ROWS_AT_ONCE: Final = 2_000

log = Log(__name__)


class Due(NamedTuple):
    """Holds an event that is to be posted."""

    waiting: WaitingEvents
    kind: str
    body: str


class Reading(Protocol):
    """Describes an endpoint whose queue is read."""

    @property
    def account_id(self) -> str: ...

    @property
    def endpoint_id(self) -> str: ...

    @property
    def wanted(self) -> int:
        """Returns how much of the queue is to be read, from its beginning."""
        ...

    def was_read(self, found: list[Due] | None, *, whole: bool) -> None:
        """Takes what was found, the earliest first, or None when the queue could not be read.
        `whole` says whether that was all.
        """
        ...


class Reads:
    """Reads the queues of endpoints in one process. Whoever asks is told once what was read."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: Turns[Reading] = Turns()
        self._asked = asyncio.Event()

    def ask(self, reading: Reading) -> None:
        """Asks for the endpoint's queue to be read when it is the endpoint's turn."""
        self._waiting.add(reading)
        self._asked.set()

    async def run(self) -> None:
        """Reads until it is cancelled."""
        await repeat(self._read_next, wait=self._asked.wait, fault=None)

    async def _read_next(self) -> None:
        batch = self._next_batch()
        if not self._waiting:
            self._asked.clear()
        found: dict[str, list[Due]] | None = None
        with survive_faults("webhooks_not_read"):  # the watch says again that something is due
            found = await self._read(batch)
        for reading, wanted in batch:
            rows = None if found is None else found.get(reading.endpoint_id, [])
            reading.was_read(rows, whole=rows is not None and len(rows) < wanted)

    def _next_batch(self) -> list[tuple[Reading, int]]:
        """Returns whose queues are read next, and how much of each."""
        batch: list[tuple[Reading, int]] = []
        rows = 0
        while self._waiting and len(batch) < QUEUES_AT_ONCE and rows < ROWS_AT_ONCE:
            reading = self._waiting.next()
            batch.append((reading, reading.wanted))
            rows += reading.wanted
        return batch

    async def _read(self, batch: list[tuple[Reading, int]]) -> dict[str, list[Due]]:
        """Returns what is due by endpoint. Removes rows of the queue whose events were pruned while
        they waited.
        """
        now_ms = clock.now_ms()
        async with self._db.hot() as tx:
            events = await NEXT.rows(
                tx, [QueueRead(reading.endpoint_id, now_ms, wanted) for reading, wanted in batch]
            )
            await DONE.rows(tx, sorted(event.waiting.key for event in events if event.body is None))
        found: dict[str, list[Due]] = {}
        for event in events:
            if event.kind is not None and event.body is not None:
                found.setdefault(event.waiting.endpoint_id, []).append(
                    Due(event.waiting, event.kind, event.body)
                )
        return found
