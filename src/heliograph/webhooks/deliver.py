"""Each endpoint is held by one process, which reads what is due for it, posts it and records what
came of it.

There is no order over all endpoints. Each has its own place in the queue and its own POSTs, so a
dead one delays nobody. A process that dies loses what it holds to the others when its row in
`workers` is gone. What it had posted and not recorded goes out again, with the same id.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from heliograph.base import cancelling, clock, open_files
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.base.secrets import Keys
from heliograph.database.database import Database
from heliograph.database.leases import Lease
from heliograph.webhooks import deliver_sql
from heliograph.webhooks.deliver_sql import LET_GO, STORE_ENDED, TAKE, DeliveryRow, Holder, Target
from heliograph.webhooks.endpoint_worker import EndpointWorker
from heliograph.webhooks.endpoints import count_enabled
from heliograph.webhooks.events import DELIVERIES_WAIT
from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.http.make_poster import make_poster
from heliograph.webhooks.post_rate import PostRate
from heliograph.webhooks.post_slots import PostSlots
from heliograph.webhooks.read_due import Reads
from heliograph.webhooks.record_attempts import BATCH_MAX, EVERY_S, AttemptResult, Recorder
from heliograph.webhooks.states import DELIVERY, MISSED, WAITING

if TYPE_CHECKING:
    from heliograph.webhooks.http.post import Poster

# how often the queue is looked at: what other processes wrote, tries whose time has come
POLL_S: Final = 0.25
LOOK_S: Final = 0.05  # how often at most, when what this process writes wakes it
# beside busy carriers, which want the database too: how often it is looked at, and how often
# results are stored
BUSY_S: Final = 0.25
IDLE_S: Final = 5.0  # an endpoint with nothing to do for so long is let go, for whoever comes first
STOP_S: Final = 16.0  # for POSTs under way at the end: they have 15 s each
RECORD_S: Final = 5.0  # for the results of those POSTs, which are stored after them

_MISSED: Final = DELIVERY.moved(WAITING, MISSED)

log = Log(__name__)


class Deliveries:
    """Delivers events in one process. `only` is the raw id of the only endpoint to deliver to
    (`heliograph listen`). `on_attempt` is called after each attempt, with the kind and the body of
    its event. `moved` returns how many submissions, answers and receipts this process's carriers
    have handled since it began.
    """

    def __init__(
        self,
        db: Database,
        lease: Lease,
        secret_key: Keys,
        allow: AllowedNetworks,
        only: str | None = None,
        on_attempt: Callable[[str, str, AttemptResult], None] | None = None,
        moved: Callable[[], int] = lambda: 0,
    ) -> None:
        self._db = db
        self._lease = lease
        self._secret_key = secret_key
        self._allow = allow
        self._only = only
        self._on_attempt = on_attempt
        self._reads = Reads(db)
        self._allowance = PostRate(moved)
        self._places = PostSlots(open_files.limit())
        self._recorder = Recorder(db, lambda: BUSY_S if self._allowance.is_limited else EVERY_S)
        self._receivers: dict[str, EndpointWorker] = {}
        # made when an endpoint is there: an HTTP client takes a quarter of a second to load
        self._poster: Poster | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._looked_s = 0.0  # monotonic: when the last look began

    async def start(self) -> None:
        """Loads the HTTP client now where endpoints are there already, and not in the middle of
        a rush.
        """
        if await asyncio.to_thread(self._is_wanted):
            self._poster = await make_poster(self._allow, self._places.posts)
        self._tasks = [
            asyncio.create_task(self._recorder.run(self._recorded)),
            asyncio.create_task(self._watch()),
            asyncio.create_task(self._reads.run()),
            asyncio.create_task(self._allowance.run()),
        ]
        self._db.listeners.listen(DELIVERIES_WAIT, self._wake.set)

    async def stop(self, within_s: float = STOP_S) -> None:
        """Posts nothing more, waits so long for what is under way, records it, and lets
        the endpoints go.
        """
        self._db.listeners.stop_listening(DELIVERIES_WAIT, self._wake.set)
        recording, *others = self._tasks
        await cancelling.cancel_and_wait(*others)
        for receiver in self._receivers.values():
            receiver.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await asyncio.gather(*(receiver.ended() for receiver in self._receivers.values()))
        with suppress(TimeoutError):
            async with asyncio.timeout(RECORD_S):
                await self._recorder.wait_until_empty()
        await cancelling.cancel_and_wait(recording)
        with survive_faults("webhooks_not_let_go", level="warning"):
            async with self._db.hot() as tx:
                await LET_GO.rows(
                    tx,
                    [
                        Holder(endpoint_id, self._lease.number)
                        for endpoint_id in sorted(self._receivers)
                    ],
                )
        if self._poster is not None:
            await self._poster.close()

    async def _watch(self) -> None:
        await repeat(
            self._look,
            wait=self._until_next_look,
            first_after_s=0.0,
            fault="webhooks_not_looked_at",
        )

    async def _until_next_look(self) -> None:
        """Returns when something new is due or a poll is, and not too soon after the last look."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._wake.wait()
        every_s = BUSY_S if self._allowance.is_limited else LOOK_S
        await asyncio.sleep(max(0.0, self._looked_s + every_s - clock.monotonic_s()))

    async def _look(self) -> None:
        self._wake.clear()
        self._allowance.measure_load()
        self._looked_s = clock.monotonic_s()
        if not self._lease.may_write():
            return
        async with self._db.hot() as tx:
            due = await deliver_sql.find_due(tx, clock.now_ms(), self._lease.number, self._only)
        fresh: list[Target] = []
        for target in due:
            receiver = self._receivers.get(target.id)
            if target.disabled_at_ms is not None:
                await self._miss(target.id, receiver)
            elif receiver is not None:
                receiver.target = target
                # it has been enabled again before the last POST of its former time was over
                if receiver.stopped:
                    receiver.stopped, self._recorder.failing_since[target.id] = (
                        False,
                        target.failing_since_ms,
                    )
                receiver.due()
            else:
                fresh.append(target)
        # where there is no room for all, each has the same chance at each look
        random.shuffle(fresh)
        await self._let_go_idle(len(fresh), {target.id for target in due})
        room = self._places.receivers - len(self._receivers)
        if len(fresh) > room:
            self._places.log_crowded(len(fresh) - room)
        await self._take(fresh[:room])

    async def _take(self, targets: list[Target]) -> None:
        if not targets:
            return
        poster = self._poster = self._poster or await make_poster(self._allow, self._places.posts)
        async with self._db.hot() as tx:
            taken = await TAKE.rows(
                tx,
                [
                    Holder(target_id, self._lease.number)
                    for target_id in sorted(target.id for target in targets)
                ],
            )
        taken_ids = {endpoint.endpoint_id for endpoint in taken}
        for target in targets:
            if target.id in taken_ids:
                self._recorder.failing_since[target.id] = target.failing_since_ms
                receiver = EndpointWorker(
                    target,
                    self._secret_key,
                    poster,
                    recorder=self._recorder,
                    may_post=self._lease.may_write,
                    reads=self._reads,
                    allowance=self._allowance,
                    places=self._places,
                    on_attempt=self._on_attempt,
                )
                self._receivers[target.id] = receiver
                receiver.due()

    def _is_wanted(self) -> bool:
        with self._db.read() as tx:
            return count_enabled(tx) > 0

    async def _miss(self, endpoint_id: str, receiver: EndpointWorker | None) -> None:
        """Stores what waits for a disabled endpoint as missed, one batch at each look, once no POST
        to it is under way.
        """
        if receiver is not None:
            receiver.stop()
            if not receiver.is_idle:
                return
            await self._let_go([endpoint_id])
        async with self._db.hot() as tx:
            missed = await deliver_sql.miss(tx, endpoint_id, BATCH_MAX)
            now_ms = clock.now_ms()
            await STORE_ENDED.rows(
                tx,
                [
                    DeliveryRow(
                        endpoint_id,
                        event.event_id,
                        _MISSED,
                        event.tries,
                        status=None,
                        took_ms=None,
                        answer=None,
                        at_ms=now_ms,
                    )
                    for event in sorted(missed)
                ],
            )

    async def _let_go_idle(self, wanted: int, due: set[str]) -> None:
        """Lets go of receivers that have long had nothing to do. Where others want their places, it
        lets go of those that have been idle the longest.
        """
        now_s = clock.monotonic_s()
        idle = sorted(
            (receiver.idle_since_s, endpoint_id)
            for endpoint_id, receiver in self._receivers.items()
            if receiver.is_idle and endpoint_id not in due
        )
        crowd = wanted - (self._places.receivers - len(self._receivers))
        await self._let_go(
            [
                endpoint_id
                for place, (since_s, endpoint_id) in enumerate(idle)
                if place < crowd or now_s - since_s >= IDLE_S
            ]
        )

    async def _let_go(self, endpoint_ids: list[str]) -> None:
        if not endpoint_ids:
            return
        for endpoint_id in endpoint_ids:
            del self._receivers[endpoint_id]
            self._recorder.failing_since.pop(endpoint_id, None)
        async with self._db.hot() as tx:
            await LET_GO.rows(
                tx,
                [Holder(endpoint_id, self._lease.number) for endpoint_id in sorted(endpoint_ids)],
            )

    def _recorded(self, batch: Sequence[AttemptResult]) -> None:
        for tried in batch:
            receiver = self._receivers.get(tried.waiting.endpoint_id)
            if receiver is not None:
                receiver.recorded(tried.waiting)
        for receiver in self._receivers.values():
            receiver.pump()
