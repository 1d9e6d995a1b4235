"""Runs the carriers of one process. Each has a Link and a Turn, which follow the configuration and
the other processes.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from heliograph.base import cancelling, clock, metrics
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat, until
from heliograph.base.secrets import SecretUnreadable
from heliograph.base.settings import Settings
from heliograph.carriers import (
    Carrier,
    Link,
    LinkState,
    all_carriers,
    carrier_states,
    connection_settings,
)
from heliograph.carriers.simulator import (
    RECEIPTS_OWED_MAX,
    OwedReceipt,
    SimulatorLink,
    SimulatorSettings,
)
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.link import SmppLink
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.leases import CARRIER, SCHEDULER, Lease
from heliograph.inbound.receive.receiver import InboundReceiver
from heliograph.messages.accept import Replier
from heliograph.messages.carrier import facts_of
from heliograph.messages.carrier.turn import Turn
from heliograph.messages.queue import FairQueue
from heliograph.messages.sweeps import find_unreceipted, take_over
from heliograph.monitoring import MeasuredQueue
from heliograph.otp import text_sealer
from heliograph.processes.rate_share import Share
from heliograph.processes.roles import dedicated_carriers, others_may_send, senders
from heliograph.processes.running_carrier import GRACE_S, Running
from heliograph.processes.sweeps import Sweeps

# how often a changed configuration is looked for: with the cache's poll a change is in effect
# within 1 s
WATCH_S: Final = 0.3
WAIVE_S: Final = 10.0  # not bound for so long: the other processes may use its part of the rate
AGAIN_S: Final = 1.0  # when a state could not be stored
FINISH_S: Final = 5.0  # for the last words of a carrier to be stored when the process stops

log = Log(__name__)


class CarrierAsSet(NamedTuple):
    """Holds a carrier as the operator set it, and how to connect to it if it speaks SMPP."""

    carrier: Carrier
    connection: SmppSettings | None


class LatestState(NamedTuple):
    """Holds the state of a carrier's link that is still to be recorded."""

    state: LinkState
    detail: str


class Dispatch:
    """Runs all carriers of this process."""

    def __init__(
        self,
        db: Database,
        cache: ConfigCache,
        settings: Settings,
        lease: Lease,
        queue: FairQueue,
    ) -> None:
        self._db = db
        self._cache = cache
        self._settings = settings
        self._sealer = text_sealer(settings.secret_keys)
        self._lease = lease
        self._may_write = lease.permit()
        self._running: dict[int, Running] = {}
        self._epoch = -1
        self._left_to_others: frozenset[int] = frozenset()
        self._claiming = True
        self.is_for_nothing = False  # the carrier that this process is for was removed
        self._stopping = False
        self._changes: dict[int, asyncio.Task[None]] = {}  # carriers that are being ended or begun
        # of each carrier, what is not stored yet
        self._states: dict[int, LatestState] = {}
        self._news = asyncio.Event()
        self._replier = Replier(cache, self.wake)
        self._sweeps = Sweeps(db, lease, queue, self._running, self.wake)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await take_over(self._db, self._lease.number, clock.now_ms())
        await self._reconcile()
        await asyncio.gather(*self._changes.values())
        for loop in (self._watch, self._record_states, self._sweeps.run):
            self._tasks.append(asyncio.create_task(loop()))

    def wake(self, carrier_ids: set[int]) -> None:
        """Wakes these carriers, because something was queued for them."""
        for carrier_id in carrier_ids:
            if carrier_id in self._running:
                self._running[carrier_id].turn.wake()

    def count_traffic(self) -> int:
        """Counts submissions, answers and receipts of the carriers that are at work."""
        return sum(running.turn.moved for running in self._running.values())

    def measured_queues(self) -> Mapping[int, MeasuredQueue]:
        """Returns what was measured last of each carrier, by the process that does it for all."""
        return self._sweeps.measured

    def may_claim(self, allowed: bool) -> None:
        """Says whether anything may be taken from the queue. What comes in is recorded in any
        case.
        """
        self._claiming = allowed
        for running in self._running.values():
            running.turn.claiming = self._may_claim_for(running.carrier)

    def _may_claim_for(self, carrier: Carrier) -> bool:
        return self._claiming and not carrier.paused

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Stops claiming, finishes the windows, unbinds, records the rest."""
        self._stopping = True
        # at once: a silent database holds up no unbind
        unbinding = [running.unbind(grace_s) for running in self._running.values()]
        await asyncio.gather(
            cancelling.cancel_and_wait(*self._tasks, *self._changes.values()),
            *unbinding,
            return_exceptions=True,
        )
        await asyncio.gather(
            *(running.stop(FINISH_S, 0) for running in self._running.values()),
            return_exceptions=True,
        )
        await self._record_latest()

    # carriers as configured

    async def _watch(self) -> None:
        await repeat(self._look, wait=WATCH_S, fault="carriers_not_reconciled")

    async def _look(self) -> None:
        self._share_rates()
        for running in self._running.values():
            metrics.BOUND.labels(running.carrier.name).set(running.link.state is LinkState.BOUND)
        if self._cache.epoch != self._epoch or self._carriers_of_others() != self._left_to_others:
            await self._reconcile()

    def _carriers_of_others(self) -> frozenset[int]:
        """Returns the carriers that other processes are for."""
        return frozenset() if self._lease.kind == CARRIER else dedicated_carriers(self._lease)

    def _share_rates(self) -> None:
        """Shares out rates. A process that cannot bind for a while waives its part, if there is
        anybody who could use it.
        """
        now_s = clock.monotonic_s()
        waived: set[int] = set()
        # a SQLite file has one process only
        looked_s = self._lease.refreshed_s if self._db.postgresql else now_s
        for carrier_id, running in self._running.items():
            if running.link.state is LinkState.BOUND:
                running.bound_s = now_s
            if running.share is not None and isinstance(running.link, SmppLink):
                others = others_may_send(self._lease, carrier_id)
                running.link.agree_tps(
                    running.share.current_rate(
                        senders(self._lease.peers, carrier_id),
                        self._lease.number,
                        others=others,
                        looked_s=looked_s,
                        now_s=now_s,
                    )
                )
                if others and now_s - running.bound_s >= WAIVE_S:
                    waived.add(carrier_id)
        self._lease.waived = frozenset(waived)

    async def _reconcile(self) -> None:
        """Begins what has to change, each carrier for itself: one that drains does not hold up the
        others.
        """
        epoch, self._left_to_others = self._cache.epoch, self._carriers_of_others()
        wanted = {as_set.carrier.id: as_set for as_set in await asyncio.to_thread(self._load)}
        for carrier_id in self._running.keys() | wanted.keys():
            running, as_set = self._running.get(carrier_id), wanted.get(carrier_id)
            if carrier_id in self._changes:
                continue  # when that is done it is looked at again
            if (
                running is not None
                and as_set is not None
                and as_set.connection == running.connection
            ):
                running.carrier = as_set.carrier
                running.turn.follow(facts_of(as_set.carrier))
                running.turn.claiming = self._may_claim_for(as_set.carrier)
            else:
                self._changes[carrier_id] = asyncio.create_task(self._change(carrier_id, as_set))
        self._epoch = epoch

    async def _change(self, carrier_id: int, as_set: CarrierAsSet | None) -> None:
        """Ends a carrier's link and turn if it has them, and begins new ones if it shall."""
        try:
            # the other carriers go on, and this one is tried again
            with survive_faults("carriers_not_reconciled"):
                await self._replace(carrier_id, as_set)
        finally:
            del self._changes[carrier_id]
            self._epoch = -1  # what was changed meanwhile is still to be seen

    async def _replace(
        self, carrier_id: int, as_set: tuple[Carrier, SmppSettings | None] | None
    ) -> None:
        running = self._running.get(carrier_id)
        if running is not None:
            # however long its last words take: the next turn would only find them in doubt
            await running.stop(None)
            # not before: should the process stop meanwhile, it must be found
            del self._running[carrier_id]
            with suppress(KeyError):  # it was not shown yet
                # of a carrier that others serve it would be an alarm without end
                metrics.BOUND.remove(running.carrier.name)
        if as_set is not None and not self._stopping:
            await self._start(*as_set, follows=running is not None)

    def _load(self) -> list[CarrierAsSet]:
        with self._db.read() as tx:
            found: list[CarrierAsSet] = []
            stored = all_carriers(tx)
            self.is_for_nothing = self._lease.kind == CARRIER and self._lease.carrier_id not in {
                carrier.id for carrier in stored
            }
            for carrier in stored:
                if not self._serves(carrier.id):
                    continue
                try:
                    found.append(
                        CarrierAsSet(
                            carrier,
                            (
                                connection_settings(tx, carrier, self._settings.secret_keys)
                                if carrier.type == "smpp"
                                else None
                            ),
                        )
                    )
                except SecretUnreadable as error:
                    log.error(
                        "carrier_password_unreadable", carrier=carrier.name, detail=str(error)
                    )
            return found

    def _serves(self, carrier_id: int) -> bool:
        if self._lease.kind in (CARRIER, SCHEDULER):
            return carrier_id == self._lease.carrier_id
        return carrier_id not in self._left_to_others

    async def _start(
        self, carrier: Carrier, connection: SmppSettings | None, *, follows: bool
    ) -> None:
        """Starts a carrier. `follows` says that it follows another link of this process, which
        may have used up this second's rate.
        """
        # what its last turn could not store
        await take_over(self._db, self._lease.number, clock.now_ms(), of_carrier=carrier.id)
        turn = Turn(
            self._db,
            facts_of(carrier),
            self._lease.number,
            partial(self._report, carrier.id),
            self._may_write,
            self._sealer.unseal,
        )
        link: Link
        taking = None
        if connection is None:
            link = await self._simulator(carrier, turn)
        else:
            receiver = InboundReceiver(self._db, carrier.id, carrier.name, self._replier)
            link = receiver.link = SmppLink(connection, turn, self._may_write, receiver)
            taking = asyncio.create_task(receiver.run(), name=f"receiver {carrier.name}")
        turn.link = link
        turn.claiming = self._may_claim_for(carrier)
        task = asyncio.create_task(turn.run(), name=f"turn {carrier.name}")
        tps = connection.tps if connection is not None else None
        is_first = not follows and not others_may_send(self._lease, carrier.id)
        share = Share(tps, alone=is_first) if tps else None
        self._running[carrier.id] = Running(
            carrier, connection, turn, link, task, share=share, taking=taking
        )
        self._share_rates()
        await link.start()

    async def _simulator(self, carrier: Carrier, turn: Turn) -> SimulatorLink:
        """Makes the simulator, with the receipts that it owed when its process was killed."""
        link = SimulatorLink(SimulatorSettings(), turn)
        link.resume(
            [
                OwedReceipt(segment.ref, segment.sender, str(segment.recipient))
                for segment in await find_unreceipted(self._db, carrier.id, RECEIPTS_OWED_MAX)
            ]
        )
        return link

    # carriers' states, kept in the database for the operator and for routing

    def _report(self, carrier_id: int, state: LinkState, detail: str) -> None:
        self._states[carrier_id] = LatestState(state, detail)
        self._news.set()

    async def _record_states(self) -> None:
        await repeat(self._record_news, wait=self._news.wait, fault=None)

    async def _record_news(self) -> None:
        self._news.clear()
        await until(self._record_latest, look_s=AGAIN_S)

    async def _record_latest(self) -> bool:
        """Records the latest states, and returns whether all that was to be stored is."""
        return all(
            await asyncio.gather(
                *(
                    self._record_state(carrier_id, latest)
                    for carrier_id, latest in self._states.items()
                )
            )
        )

    async def _record_state(self, carrier_id: int, latest: LatestState) -> bool:
        """Returns whether a carrier's state is stored. If not, it is tried again."""
        with survive_faults("carrier_state_not_recorded", state=latest.state.value):
            await asyncio.to_thread(self._record, carrier_id, *latest)
            if self._states.get(carrier_id) == latest:
                del self._states[carrier_id]
            return True
        return False

    def _record(self, carrier_id: int, state: LinkState, detail: str) -> None:
        with self._db.write() as tx:
            carrier_states.record(tx, self._lease.number, carrier_id, state, detail, clock.now_ms())
