"""Takes the texts that a carrier brings: it stores them in batches, and has each acknowledged once
its transaction is committed.

What is not stored yet stays in memory, and its carrier waits for the answer. While the database is
away that lasts only so long; then the carrier is told to send the texts again.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base import cancelling, clock, metrics
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log, error_fields
from heliograph.carriers import HandsetText, TextLink
from heliograph.database.database import Database
from heliograph.database.outage import is_conflict, is_refusal
from heliograph.inbound.receive.record import Recorded, record
from heliograph.messages.accept import Replier
from heliograph.messages.sweeps import cancel_accepted_meanwhile

TEXTS_MAX: Final = 500  # stored in one transaction: about 50 ms
# a carrier waits for an answer for some ten seconds to a minute, and may then drop the connection
ANSWER_WITHIN_S: Final = 20.0
TRIED_AGAIN_S: Final = 0.25

log = Log(__name__)


class _WaitingText(NamedTuple):
    text: HandsetText
    came_s: float  # monotonic


class InboundReceiver:
    """Is the TextInbox of a carrier's Link, and runs the loop that stores. There is one for each
    carrier in a process.
    """

    def __init__(
        self, db: Database, carrier_id: int, carrier_name: str, replier: Replier | None = None
    ) -> None:
        self._db = db
        self._replier = replier
        self._carrier_id = carrier_id
        self._name = carrier_name
        self._waiting: deque[_WaitingText] = deque()
        # fewer while what the database refuses is singled out
        self._most = TEXTS_MAX
        self._wake = asyncio.Event()
        self.link: TextLink | None = None

    def on_texts(self, texts: Sequence[HandsetText]) -> None:
        now_s = clock.monotonic_s()
        self._waiting.extend(_WaitingText(text, now_s) for text in texts)
        self._wake.set()

    async def run(self) -> None:
        """Stores texts until it is cancelled. What is left then was not acknowledged."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                try:
                    await self.store_batch()
                except Exception as error:  # noqa: BLE001  whatever it was, this carrier must go on
                    cancelling.raise_if_cancelled(error)
                    await self._after_fault(error)

    async def store_batch(self) -> None:
        """Stores one batch and acknowledges it. If it fails, everything still waits."""
        batch = [self._waiting[place] for place in range(min(len(self._waiting), self._most))]
        texts = [each.text for each in batch]
        recorded = await receive_texts(self._db, self._carrier_id, self._name, texts, self._replier)
        for _ in batch:
            self._waiting.popleft()
        self._answer(texts, stored=True)
        if self._replier is not None:
            self._replier.wake(set(recorded.replied))
        self._most = min(TEXTS_MAX, self._most * 2)

    async def _after_fault(self, error: Exception) -> None:
        """Waits for a moment after a fault. If the database was there and refused something, fewer
        texts are taken at a time, until the one that it refuses stands alone.
        """
        log.error(
            "inbound_not_stored",
            carrier=self._name,
            **error_fields(error),
            texts=len(self._waiting),
        )
        if not isinstance(error, Unavailable) and not is_conflict(error):
            if self._most == 1 and is_refusal(error):
                self._send_again(1)
            self._most = max(1, min(self._most, len(self._waiting)) // 2)
        late_s = clock.monotonic_s() - ANSWER_WITHIN_S
        self._send_again(sum(each.came_s <= late_s for each in self._waiting))
        await asyncio.sleep(TRIED_AGAIN_S)

    def _send_again(self, count: int) -> None:
        """Has the carrier send the oldest texts again."""
        texts = [self._waiting.popleft().text for _ in range(count)]
        if texts:
            log.warning("inbound_sent_back", carrier=self._name, texts=len(texts))
            self._answer(texts, stored=False)

    def _answer(self, texts: Sequence[HandsetText], *, stored: bool) -> None:
        assert self.link is not None
        self.link.answer_texts(texts, stored=stored)


async def receive_texts(
    db: Database,
    carrier_id: int,
    carrier_name: str,
    texts: Sequence[HandsetText],
    replier: Replier | None = None,
) -> Recorded:
    """Stores texts of one carrier in one transaction, and counts them. Keywords are answered if
    there is a `replier`. Of what somebody has opted out of, nothing is queued any more that was
    accepted at the same moment.
    """
    started_s, now_ms = clock.monotonic_s(), clock.now_ms()
    async with db.hot() as tx:
        recorded = await record(tx, carrier_id, texts, now_ms, replier)
    if recorded.unwanted and db.postgresql:  # SQLite has one writer: nobody accepts meanwhile
        await cancel_accepted_meanwhile(db, recorded.unwanted, now_ms)
    metrics.count_transaction("inbound", len(texts), clock.monotonic_s() - started_s)
    count(carrier_name, recorded)
    return recorded


def count(carrier: str, recorded: Recorded) -> None:
    """Counts what was recorded of a carrier, and tells of what is no account's."""
    metrics.count_inbound(carrier, recorded.texts, recorded.unowned, recorded.repeats)
    if recorded.unowned:
        log.info("inbound_unowned", carrier=carrier, texts=recorded.unowned)
