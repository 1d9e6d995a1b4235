"""The carriers of one process: a Link and a Turn for each, kept in step with the configuration; and the sweeps beside them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa
import structlog
from sqlalchemy.engine import Connection

from heliograph import messages
from heliograph.base import clock, config, metrics, migrate
from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.faults import told
from heliograph.base.secrets import SecretUnreadable
from heliograph.base.settings import Settings
from heliograph.carriers import (
    Carrier,
    Link,
    LinkState,
    Routes,
    SmppLink,
    SmppSettings,
    all_carriers,
    connection_settings,
    down_carriers,
    load_routes,
    record_state,
    remember_id_format,
)
from heliograph.carriers.simulator import RECEIPTS_OWED_MAX, Owed, SimulatorLink, SimulatorSettings
from heliograph.messages.receipts import AS_IS
from heliograph.messages.tables import RECEIPTS_KEPT_MS, workers

WATCH_S: Final = 0.3  # how often a changed configuration is looked for: with the cache's poll a change is in effect within 1 s
SWEEP_S: Final = 1.0
PARTITIONS_EVERY_SWEEPS: Final = 3_600  # an hour; they are made three months ahead
SCAN_EVERY_SWEEPS: Final = 5  # what looks at the whole queue: with a million runs it takes 0.1 s
FINISH_S: Final = 5.0  # for a stopped carrier's last words to be stored
DRAIN_S: Final = 20.0  # for outstanding answers when stopping; all in all a process is gone within 30 s
PARKED_LOOK_BACK_MS: Final = 3_600_000  # receipts older than this are no longer matched by guesswork

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Running:
    """A carrier at work. Its link is made anew when its connection's settings change, and only then."""

    carrier: Carrier
    connection: SmppSettings | None
    turn: messages.Turn
    link: Link
    task: asyncio.Task[None]


class Dispatch:
    """All carriers of this process."""

    def __init__(self, db: Database, cache: ConfigCache, settings: Settings, worker: int, queue: messages.FairQueue) -> None:
        self._db = db
        self._cache = cache
        self._settings = settings
        self._worker = worker
        self._queue = queue
        self._running: dict[int, Running] = {}
        self._epoch = -1
        self._claiming = True
        self._states: asyncio.Queue[tuple[int, LinkState, str]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await messages.take_over(self._db, self._worker, clock.now_ms())
        await self._reconcile()
        for loop in (self._watch, self._record_states, self._sweep):
            self._tasks.append(asyncio.create_task(loop()))

    def wake(self, carrier_ids: set[int]) -> None:
        """Something was queued for these carriers."""
        for carrier_id in carrier_ids:
            if carrier_id in self._running:
                self._running[carrier_id].turn.wake()

    def may_claim(self, allowed: bool) -> None:
        """Whether anything may be taken from the queue. What comes in is recorded in any case."""
        self._claiming = allowed
        for running in self._running.values():
            running.turn.claiming = allowed

    async def stop(self) -> None:
        """Stops claiming, finishes the windows, unbinds, records the rest."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._stop(running) for running in self._running.values()), return_exceptions=True)
        while not self._states.empty():
            await self._record_state(*self._states.get_nowait())

    async def _stop(self, running: Running) -> None:
        running.turn.claiming = False
        await running.link.close(DRAIN_S)
        running.task.cancel()
        await asyncio.gather(running.task, return_exceptions=True)
        await running.turn.finish(FINISH_S)

    # carriers as configured

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            if self._cache.epoch != self._epoch:
                try:
                    await self._reconcile()
                except Exception as error:  # noqa: BLE001  whatever it was, the next change must be seen
                    log.error("carriers_not_reconciled", **told(error))

    async def _reconcile(self) -> None:
        epoch = self._cache.epoch
        wanted = {carrier.id: (carrier, connection) for carrier, connection in await asyncio.to_thread(self._load)}
        for carrier_id, running in list(self._running.items()):
            if carrier_id not in wanted or wanted[carrier_id][1] != running.connection:
                del self._running[carrier_id]
                await self._stop(running)
        for carrier_id, (carrier, connection) in wanted.items():
            if carrier_id in self._running:
                self._running[carrier_id].carrier = carrier
                self._running[carrier_id].turn.carrier = _facts(carrier)
            else:
                self._running[carrier_id] = await self._start(carrier, connection)
        self._epoch = epoch

    def _load(self) -> list[tuple[Carrier, SmppSettings | None]]:
        with self._db.read() as tx:
            found: list[tuple[Carrier, SmppSettings | None]] = []
            for carrier in all_carriers(tx):
                try:
                    found.append((carrier, connection_settings(tx, carrier, self._settings.secret_key) if carrier.type == "smpp" else None))
                except SecretUnreadable as error:
                    log.error("carrier_password_unreadable", carrier=carrier.name, detail=str(error))
            return found

    async def _start(self, carrier: Carrier, connection: SmppSettings | None) -> Running:
        await messages.take_over(self._db, self._worker, clock.now_ms(), of_carrier=carrier.id)  # what its last turn could not store
        turn = messages.Turn(self._db, _facts(carrier), self._worker, self._reporter(carrier.id))
        link: Link = await self._simulator(carrier, turn) if connection is None else SmppLink(connection, turn)
        turn.link = link
        turn.claiming = self._claiming
        task = asyncio.create_task(turn.run(), name=f"turn {carrier.name}")
        await link.start()
        return Running(carrier, connection, turn, link, task)

    async def _simulator(self, carrier: Carrier, turn: messages.Turn) -> SimulatorLink:
        """The simulator, with the receipts that it owed when its process was killed."""
        link = SimulatorLink(SimulatorSettings(), turn)
        link.resume([Owed(ref, sender, str(recipient)) for ref, sender, recipient in
                     await messages.unreceipted(self._db, carrier.id, RECEIPTS_OWED_MAX)])
        return link

    def _reporter(self, carrier_id: int) -> Callable[[LinkState, str], None]:
        return lambda state, detail: self._states.put_nowait((carrier_id, state, detail))

    async def _record_states(self) -> None:
        """Carriers' states are kept in the database, for the operator and for routing."""
        latest: dict[int, tuple[LinkState, str]] = {}  # of each carrier, what is not stored yet
        while True:
            if not latest or not self._states.empty():
                carrier_id, state, detail = await self._states.get()
                latest[carrier_id] = (state, detail)
            for carrier_id, (state, detail) in list(latest.items()):
                if await self._record_state(carrier_id, state, detail):
                    del latest[carrier_id]
            if latest:
                await asyncio.sleep(SWEEP_S)

    async def _record_state(self, carrier_id: int, state: LinkState, detail: str) -> bool:
        try:
            await asyncio.to_thread(self._record, carrier_id, state, detail)
        except Exception as error:  # noqa: BLE001  whatever it was, the next state must be recorded
            log.error("carrier_state_not_recorded", state=state.value, **told(error))
            return False
        return True

    def _record(self, carrier_id: int, state: LinkState, detail: str) -> None:
        with self._db.write() as tx:
            record_state(tx, carrier_id, state, detail, clock.now_ms())

    # sweeps

    async def _sweep(self) -> None:
        down: frozenset[int] | None = None  # what new messages were told of it, perhaps by a process before: the first sweep tells them anew
        sweeps = 0
        while True:
            await asyncio.sleep(SWEEP_S)
            sweeps += 1
            try:
                if sweeps % PARTITIONS_EVERY_SWEEPS == 1 and self._db.postgresql:
                    await asyncio.to_thread(self._make_partitions)
                if sweeps % SCAN_EVERY_SWEEPS == 1:
                    await self._measure()
                    await messages.take_over(self._db, self._worker, clock.now_ms())  # what a server before claimed in its last moment
                    await self._fail_expired()
                routes, now_down = await asyncio.to_thread(self._routing, down)
                await self._sweep_once(routes, now_down)
                down = now_down
            except Exception as error:  # noqa: BLE001  whatever it was, the next sweep must come
                log.error("sweep_failed", **told(error))

    async def _fail_expired(self) -> None:
        """All whose validity has ended, in small batches; the rest of a very long queue at the next look."""
        until_s = clock.monotonic_s() + SWEEP_S
        while await messages.fail_expired(self._db, clock.now_ms()) and clock.monotonic_s() < until_s:
            pass

    def _make_partitions(self) -> None:
        with self._db.write() as tx:
            migrate.make_partitions(tx, clock.now_ms())

    async def _measure(self) -> None:
        depths = await messages.queue_depths(self._db, clock.now_ms())
        for running in self._running.values():
            waiting, age_s = depths.get(running.carrier.id, (0, 0.0))
            metrics.QUEUE_DEPTH.labels(running.carrier.name).set(waiting)
            metrics.QUEUE_AGE.labels(running.carrier.name).set(age_s)
            metrics.BOUND.labels(running.carrier.name).set(running.link.state is LinkState.BOUND)

    def _routing(self, known_down: frozenset[int] | None) -> tuple[Routes, frozenset[int]]:
        with self._db.read() as tx:
            routes, down = Routes(load_routes(tx)), down_carriers(tx, clock.now_ms())
        if down != known_down:  # new messages must take the other carrier too
            with self._db.write() as tx:
                config.bump(tx)
        return routes, down

    async def _sweep_once(self, routes: Routes, down: frozenset[int]) -> None:
        now_ms = clock.now_ms()
        since_ms = now_ms - PARKED_LOOK_BACK_MS
        if down and await messages.fail_over(self._db, routes, down, self._queue, now_ms):
            self.wake(set(self._running))
        for running in list(self._running.values()):
            carrier = running.carrier
            if running.turn.carrier.id_format == "auto":
                await self._learn(running, now_ms)
            await messages.match_doubts(self._db, running.turn.carrier, since_ms, now_ms)
            await messages.settle_doubts(self._db, carrier.id, now_ms, resend=carrier.settings.get("in_doubt", "resend") == "resend")

    async def _learn(self, running: Running, now_ms: int) -> None:
        """How a carrier's receipts print its ids is remembered once it has shown."""
        carrier, turn, since_ms = running.carrier, running.turn, now_ms - RECEIPTS_KEPT_MS
        id_format = AS_IS if turn.ids_match else await messages.learn_id_format(self._db, carrier.id, since_ms)
        if id_format is None:
            return
        log.info("carrier_id_format_learnt", carrier=carrier.name, id_format=id_format)
        await asyncio.to_thread(self._remember, carrier.id, id_format)
        turn.carrier = replace(turn.carrier, id_format=id_format)  # before the parked ones are read: nothing parks in between
        await messages.rematch(self._db, carrier.id, id_format, since_ms, now_ms)

    def _remember(self, carrier_id: int, id_format: str) -> None:
        self._db.transact(lambda tx: remember_id_format(tx, carrier_id, id_format))


def _facts(carrier: Carrier) -> messages.CarrierFacts:
    set_format = carrier.settings.get("id_format", "auto")
    return messages.CarrierFacts(carrier.id, carrier.name, carrier.settings.get("receipts", "all"),
                                 (carrier.id_format or "auto") if set_format == "auto" else set_format)


def register_worker(tx: Connection, kind: str, now_ms: int) -> int:
    """The epoch of a process that starts now: higher than every earlier one's."""
    epoch = int(tx.execute(sa.select(sa.func.coalesce(sa.func.max(workers.c.epoch), 0))).scalar_one()) + 1
    tx.execute(workers.insert().values(epoch=epoch, kind=kind, started_at_ms=now_ms, beat=0))
    return epoch
