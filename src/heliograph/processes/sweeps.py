"""Runs the sweeps every second: validity, doubts, and carriers that are down. If one check fails,
the others go on.

One process does it for all. Only how a carrier prints its ids is learnt by the process that hears
it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from heliograph.base import clock, metrics
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.carriers import (
    Carrier,
    all_carriers,
    carrier_states,
    down_carriers,
    routing,
    setting,
)
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.database.leases import Lease
from heliograph.database.partitions import make_months
from heliograph.messages.carrier import AUTO, facts_of
from heliograph.messages.carrier.match import learn_id_format, rematch
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.queue import FairQueue, WaitingMessages, count_in_doubt, count_waiting
from heliograph.messages.retention import drop_too_many
from heliograph.messages.sweeps import fail_expired, fail_over, settle_doubts, take_over
from heliograph.messages.tables import RECEIPTS_KEPT_MS
from heliograph.monitoring import MeasuredQueue
from heliograph.processes.roles import is_active_scheduler
from heliograph.processes.running_carrier import Running

SWEEP_S: Final = 1.0
KNOWN_EVERY_LOOKS: Final = 10  # whether a carrier still prints its ids as it is known to
PARTITIONS_EVERY_SWEEPS: Final = 3_600  # an hour; they are made three months ahead
# one a sweep, while somebody's transaction keeps the lock; then in an hour again
PARTITION_TRIES: Final = 10
SCAN_EVERY_SWEEPS: Final = 5  # what looks at the whole queue: with a million runs it takes 0.1 s
# receipts older than this are no longer matched by guesswork
UNMATCHED_LOOK_BACK_MS: Final = 3_600_000

log = Log(__name__)


class Sweeps:
    """Makes the checks of one process. `running` holds its carriers at any moment; `wake` is told
    which of them got work.
    """

    def __init__(
        self,
        db: Database,
        lease: Lease,
        queue: FairQueue,
        running: Mapping[int, Running],
        wake: Callable[[set[int]], None],
    ) -> None:
        self._db = db
        self._lease = lease
        self._queue = queue
        self._running = running
        self._wake = wake
        # what new messages were told of it, perhaps by a process before: the first sweep tells them
        # anew
        self._down: frozenset[int] | None = None
        self._sweeps = 0
        self._looks = 0
        self._measured: frozenset[str] = frozenset()  # the carriers that /metrics has figures of
        self._unmatched: dict[int, int] = {}  # by carrier
        # by carrier, what was measured last: samples are made of it
        self.measured: Mapping[int, MeasuredQueue] = {}
        self._month_tries = 0  # that are left to make months which are missing

    async def run(self) -> None:
        """Sweeps until it is cancelled."""
        try:
            await repeat(self.sweep, wait=SWEEP_S, fault="sweep_failed", check="all")
        finally:
            self._show_only(frozenset())

    async def sweep(self) -> None:
        """Makes all checks that are due."""
        self._looks += 1
        for running in list(self._running.values()):
            await _guarded_check(running.carrier.name, self._follow_format(running))
        if is_active_scheduler(self._lease):
            await self._sweep_common()
        elif self._sweeps:  # another one does it now
            self._sweeps, self._down = 0, None
            self._show_only(frozenset())

    async def _sweep_common(self) -> None:
        if self._sweeps == 0:
            log.info("scheduling", worker=self._lease.number)
        carriers = await asyncio.to_thread(self._carriers)
        if self._sweeps % PARTITIONS_EVERY_SWEEPS == 0:
            self._month_tries = PARTITION_TRIES
        if self._month_tries and self._db.postgresql:
            self._month_tries -= 1
            await _guarded_check("partitions", asyncio.to_thread(self._make_months))
        if self._sweeps % SCAN_EVERY_SWEEPS == 0:
            await _guarded_check("measure", self._measure(carriers))
            await _guarded_check("take_over", self._take_over())
            await _guarded_check("expired", self._fail_expired())
        self._sweeps += 1
        await _guarded_check("states", asyncio.to_thread(self._repair_states))
        await _guarded_check("routing", self._fail_over())
        for carrier in carriers:
            await _guarded_check(carrier.name, self._settle(carrier))
            if self._sweeps % SCAN_EVERY_SWEEPS == 0:
                await _guarded_check(carrier.name, self._drop_too_many(carrier))
        metrics.SWEEPS.inc()

    def _carriers(self) -> list[Carrier]:
        with self._db.read() as tx:
            return all_carriers(tx)

    async def _take_over(self) -> None:
        """Takes over what processes that are gone held, also what one claimed in its last
        moment.
        """
        taken = await take_over(self._db, self._lease.number, clock.now_ms())
        if taken:
            log.info("work_taken_over", messages=taken)

    async def _fail_expired(self) -> None:
        """Fails all whose validity has ended, in small batches; the rest of a very long queue waits
        for the next look. It fails nothing while nobody knows the time.
        """
        if clock.is_disputed():
            return
        until_s = clock.monotonic_s() + SWEEP_S
        while await fail_expired(self._db, clock.now_ms()) and clock.monotonic_s() < until_s:
            pass

    def _make_months(self) -> None:
        """Tries once to make months: sends wait for it no longer than its lock may take."""
        left = make_months(self._db, clock.now_ms())
        if not left:
            self._month_tries = 0
        elif not self._month_tries:
            log.warning("month_not_made", months=left, tries=PARTITION_TRIES)

    async def _measure(self, carriers: list[Carrier]) -> None:
        waiting, in_doubt = (
            await count_waiting(self._db, clock.now_ms()),
            await count_in_doubt(self._db),
        )
        measured = {}
        for carrier in carriers:
            queued, doubts = waiting.get(carrier.id, WaitingMessages()), in_doubt.get(carrier.id, 0)
            metrics.set_queue_length(carrier.name, queued.messages, queued.oldest_s, doubts)
            measured[carrier.id] = MeasuredQueue(
                waiting_ahead=queued.ahead.messages,
                oldest_ahead_s=queued.ahead.oldest_s,
                waiting_bulk=queued.bulk.messages,
                oldest_bulk_s=queued.bulk.oldest_s,
                in_doubt=doubts,
                unmatched=self._unmatched.get(carrier.id, 0),
            )
        self.measured = measured
        self._show_only(frozenset(carrier.name for carrier in carriers))

    def _show_only(self, names: frozenset[str]) -> None:
        """Drops figures of other carriers. The last figures of a carrier that was removed, or
        that another process measures now, would be an alarm without end.
        """
        for name in self._measured - names:
            metrics.forget_queue_length(name)
        self._measured = names

    def _repair_states(self) -> None:
        with self._db.read() as tx:
            if not carrier_states.outdated(tx):
                return
        with self._db.write() as tx:
            carrier_states.repair(tx, clock.now_ms())

    async def _fail_over(self) -> None:
        routes, down = await asyncio.to_thread(self._routing)
        self._down = down
        if down and await fail_over(self._db, routes, down, self._queue, clock.now_ms()):
            self._wake(set(self._running))

    def _routing(self) -> tuple[routing.Routes, frozenset[int]]:
        with self._db.read() as tx:
            routes, down = (
                routing.Routes(routing.load_routes(tx)),
                down_carriers(tx, clock.now_ms()),
            )
        if down != self._down:  # new messages must take the other carrier too
            with self._db.write() as tx:
                config.bump(tx)
        return routes, down

    async def _settle(self, carrier: Carrier) -> None:
        """Settles one carrier's doubts."""
        now_ms = clock.now_ms()
        await match_doubts(self._db, facts_of(carrier), now_ms - UNMATCHED_LOOK_BACK_MS, now_ms)
        resend = carrier.settings.get("in_doubt", "resend") == "resend"
        await settle_doubts(self._db, carrier.id, now_ms, resend=resend)

    async def _drop_too_many(self, carrier: Carrier) -> None:
        """Drops receipts that found no message, of a carrier that floods us with them."""
        dropped, kept = await drop_too_many(self._db, carrier.id, setting(carrier, "unmatched_max"))
        metrics.UNMATCHED.labels(carrier.name).set(kept)
        self._unmatched[carrier.id] = kept
        if dropped:
            metrics.UNMATCHED_DROPPED.labels(carrier.name).inc(dropped)
            log.warning("unmatched_receipts_dropped", carrier=carrier.name, receipts=dropped)

    # of the carriers of this process

    async def _follow_format(self, running: Running) -> None:
        now_ms = clock.now_ms()
        if running.turn.carrier.id_format != running.read_as:
            await self._read_anew(running, now_ms)
        if running.turn.carrier.id_format == AUTO:
            await self._learn_id_format(running, now_ms)
        # a carrier may have changed it, or it was set wrongly
        elif self._looks % KNOWN_EVERY_LOOKS == 0:
            await self._learn_id_format(running, now_ms)
            running.turn.matched = 0  # what came long ago proves nothing of today

    async def _learn_id_format(self, running: Running, now_ms: int) -> None:
        """Remembers how a carrier's receipts print its ids, once that has shown. The next look
        reads the unmatched ones anew: by then no turn is under way that reads as before.
        """
        carrier, turn = running.carrier, running.turn
        id_format = await learn_id_format(
            self._db, turn.carrier, now_ms - RECEIPTS_KEPT_MS, turn.matched
        )
        if id_format in (None, turn.carrier.id_format):
            return
        log.info("carrier_id_format_learnt", carrier=carrier.name, id_format=id_format)
        await asyncio.to_thread(
            self._db.transact,
            lambda tx: carrier_states.remember_id_format(tx, carrier.id, id_format),
        )
        turn.follow(replace(turn.carrier, id_format=id_format))

    async def _read_anew(self, running: Running, now_ms: int) -> None:
        """Reads unmatched receipts anew whenever the format changes: it was learnt, or set by the
        operator, perhaps while no process ran. Each process that serves the carrier does it when it
        has heard of the change, so the last one finds what the others left unmatched before.
        """
        carrier = running.turn.carrier
        found = await rematch(self._db, carrier, now_ms)
        log.info(
            "carrier_receipts_read_anew",
            carrier=carrier.name,
            id_format=carrier.id_format,
            matched=found,
        )
        await asyncio.to_thread(
            self._db.transact,
            lambda tx: carrier_states.remember_read_as(tx, carrier.id, carrier.id_format),
        )
        running.read_as = carrier.id_format


async def _guarded_check(check: str, sweeping: Awaitable[None]) -> None:
    """Awaits one check. If it fails, the other checks are made, and this one again later."""
    with survive_faults("sweep_failed", check=check):
        await sweeping
