"""What became of attempts is stored in batches: a success on the delivery's row alone, a failure
with a row of its own and its next time.

Only what is stored counts: a process that takes over delivers the rest again, with the same id.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from heliograph.accounts import notices
from heliograph.base import clock, ids, metrics
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.webhooks import deliver_sql
from heliograph.webhooks.deliver_sql import (
    AGAIN,
    ATTEMPTS,
    DONE,
    FAILING,
    STORE_ENDED,
    Attempt,
    DeliveryRow,
    FailingSince,
    WaitingEvents,
)
from heliograph.webhooks.states import DELIVERED, DELIVERY, EXHAUSTED, GONE, WAITING
from heliograph.webhooks.states import FAILING as FAILS

# after each failure (docs/webhooks.md, "Again, twice, out of order"); then it is exhausted
RETRY_DELAYS_MS: Final = (60_000, 300_000, 1_800_000, 7_200_000)
TRIES_MAX: Final = len(RETRY_DELAYS_MS) + 1
# nothing but failures for so long disables an endpoint (docs/webhooks.md, "Endpoints that are
# disabled")
FAILING_MAX_MS: Final = 5 * 86_400_000
STATUS_GONE: Final = 410
BATCH_MAX: Final = 1_000  # results in one transaction
UNSTORED_MAX: Final = 10_000  # results in memory; past it nothing more is posted
# one transaction in so long while results keep coming, unless there are BATCH_MAX: it costs as
# much for ten as for one
EVERY_S: Final = 0.05
AGAIN_S: Final = 0.25

# what a try makes of a delivery that waits
_AGAIN: Final = DELIVERY.moved(WAITING, WAITING)
_DELIVERED: Final = DELIVERY.moved(WAITING, DELIVERED)
_EXHAUSTED: Final = DELIVERY.moved(WAITING, EXHAUSTED)

log = Log(__name__)


class AttemptResult(NamedTuple):
    """Describes one attempt, which ended at `at_ms`. If `reason` is None, it succeeded."""

    waiting: WaitingEvents
    at_ms: int
    took_ms: int
    status: int | None
    reason: str | None
    answer: str | None
    retry_after: str | None


class Recorder:
    """Records the results of one process. `failing_since` holds, for each endpoint at work, the
    stored time since which it has failed, or None while it does not fail.
    """

    def __init__(self, db: Database, every_s: Callable[[], float] = lambda: EVERY_S) -> None:
        self._db = db
        self._every_s = every_s
        self._tried: list[AttemptResult] = []
        self._news = asyncio.Event()
        self._stored_all = asyncio.Event()
        self.failing_since: dict[str, int | None] = {}

    @property
    def is_full(self) -> bool:
        return len(self._tried) >= UNSTORED_MAX

    def add(self, tried: AttemptResult) -> None:
        self._tried.append(tried)
        self._stored_all.clear()
        self._news.set()

    async def wait_until_empty(self) -> None:
        """Returns when all is stored."""
        if self._tried:
            await self._stored_all.wait()

    async def run(self, stored: Callable[[Sequence[AttemptResult]], None]) -> None:
        """Records until it is cancelled. `stored(batch)` is told of each batch that is
        committed.
        """
        await repeat(partial(self._record_next, stored), wait=self._news.wait, fault=None)

    async def _record_next(self, stored: Callable[[Sequence[AttemptResult]], None]) -> None:
        batch = self._tried[:BATCH_MAX]
        started_s = clock.monotonic_s()
        failing: dict[str, int | None] | None = None
        with survive_faults("webhook_outcomes_not_stored", outcomes=len(batch)):
            failing = await self._committed(batch)
        if failing is None:
            await asyncio.sleep(AGAIN_S)
            return
        del self._tried[: len(batch)]
        self.failing_since |= failing
        took_s = clock.monotonic_s() - started_s
        metrics.count_transaction("webhooks", len(batch), took_s)
        stored(batch)
        if len(self._tried) < BATCH_MAX:
            await asyncio.sleep(max(0.0, self._every_s() - took_s))
        if not self._tried:
            self._news.clear()
            self._stored_all.set()

    async def _committed(self, batch: list[AttemptResult]) -> dict[str, int | None]:
        async with self._db.hot() as tx:
            return await self._store(tx, batch)

    async def _store(self, tx: HotTx, batch: list[AttemptResult]) -> dict[str, int | None]:
        """Stores a batch. Attempts whose row is gone were recorded by another process, or their
        endpoint was disabled meanwhile.
        """
        done = await DONE.rows(tx, sorted(tried.waiting.key for tried in batch))
        here = {(event.endpoint_id, event.event_id) for event in done}
        batch = [
            tried for tried in batch if (tried.waiting.endpoint_id, tried.waiting.event_id) in here
        ]
        failed = [tried for tried in batch if tried.reason is not None]
        over = [tried for tried in batch if _state_after(tried) != _AGAIN]
        await AGAIN.rows(
            tx,
            sorted(
                (
                    WaitingEvents(
                        t.waiting.endpoint_id,
                        t.at_ms + RETRY_DELAYS_MS[t.waiting.tries],
                        t.waiting.event_id,
                        t.waiting.tries + 1,
                    )
                    for t in failed
                    if _state_after(t) == _AGAIN
                ),
                key=_by_endpoint,
            ),
        )
        await STORE_ENDED.rows(tx, sorted((_result_of(tried) for tried in over), key=_by_endpoint))
        first = ids.new_number()
        await ATTEMPTS.rows(
            tx,
            [
                _attempt_of(tried, ids.raw_of_number(first + place))
                for place, tried in enumerate(failed)
            ],
        )
        changed = self._now_failing(batch)
        await FAILING.rows(
            tx,
            [
                FailingSince(endpoint_id, since_ms)
                for endpoint_id, since_ms in sorted(changed.items())
            ],
        )
        for endpoint_id, reason in sorted(_to_disable(batch, self.failing_since | changed)):
            await _disable(tx, endpoint_id, reason)
        return changed

    def _now_failing(self, batch: Iterable[AttemptResult]) -> dict[str, int | None]:
        """Returns since when each endpoint has met nothing but failures, where that is news."""
        now: dict[str, int | None] = {}
        for tried in batch:
            endpoint_id = tried.waiting.endpoint_id
            since_ms = now.get(endpoint_id, self.failing_since.get(endpoint_id))
            if tried.reason is None:
                now[endpoint_id] = None
            else:
                now[endpoint_id] = tried.at_ms if since_ms is None else since_ms
        return {
            endpoint_id: since_ms
            for endpoint_id, since_ms in now.items()
            if since_ms != self.failing_since.get(endpoint_id)
        }


def _by_endpoint(row: WaitingEvents | DeliveryRow) -> tuple[str, str]:
    """Returns the order in which rows are locked."""
    return row.endpoint_id, row.event_id


def _state_after(tried: AttemptResult) -> str:
    """Returns the state to which this attempt brings its delivery."""
    if tried.reason is None:
        return _DELIVERED
    return _AGAIN if tried.waiting.tries + 1 < TRIES_MAX else _EXHAUSTED


def _result_of(tried: AttemptResult) -> DeliveryRow:
    return DeliveryRow(
        tried.waiting.endpoint_id,
        tried.waiting.event_id,
        _state_after(tried),
        tried.waiting.tries + 1,
        status=tried.status,
        took_ms=tried.took_ms,
        answer=tried.answer,
        at_ms=tried.at_ms,
    )


def _attempt_of(tried: AttemptResult, attempt_id: str) -> Attempt:
    """Returns the row of an attempt that has failed."""
    assert tried.reason is not None
    return Attempt(
        attempt_id,
        tried.waiting.endpoint_id,
        tried.waiting.event_id,
        tried.waiting.tries + 1,
        tried.status,
        reason=tried.reason,
        took_ms=tried.took_ms,
        answer=tried.answer,
        retry_after=tried.retry_after,
    )


def _to_disable(
    batch: Iterable[AttemptResult], failing_since: dict[str, int | None]
) -> set[tuple[str, str]]:
    """Returns the endpoints to disable, as (endpoint, reason)."""
    found: dict[str, str] = {}
    for tried in batch:
        endpoint_id, since_ms = (
            tried.waiting.endpoint_id,
            failing_since.get(tried.waiting.endpoint_id),
        )
        if tried.status == STATUS_GONE:
            found[endpoint_id] = GONE
        elif (
            since_ms is not None
            and tried.reason is not None
            and tried.at_ms - since_ms >= FAILING_MAX_MS
        ):
            found.setdefault(endpoint_id, FAILS)
    return set(found.items())


async def _disable(tx: HotTx, endpoint_id: str, reason: str) -> None:
    for endpoint in await deliver_sql.disable(tx, endpoint_id, clock.now_ms(), reason):
        why = "answered 410 Gone" if reason == GONE else "has met nothing but failures for 5 days"
        await notices.notify(
            tx,
            endpoint.account_id,
            "webhook_disabled",
            f"The webhook endpoint {ids.text_of_raw('whe', endpoint_id)} ({endpoint.url}) {why}: it"
            " is disabled. Its events are kept for 30 days; enable it, then replay them.",
            clock.now_ms(),
        )
        log.warning(
            "webhook_endpoint_disabled", endpoint=ids.text_of_raw("whe", endpoint_id), reason=reason
        )
