"""Runs the half of the service that sends: carriers, sweeps and pruning, in a server or in
processes of their own.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

from heliograph.base import cancelling
from heliograph.base.errors import NotFound
from heliograph.base.log import Log, error_fields, survive_faults
from heliograph.base.periodic import repeat, until
from heliograph.base.secrets import key_ids
from heliograph.base.settings import SettingError, Settings
from heliograph.database import clock_check, restored_copy
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.leases import (
    ANSWERING,
    CONSOLE,
    DELIVERING,
    LOOK_S,
    SENDING,
    SERVE,
    Lease,
    LeaseLost,
)
from heliograph.messages.queue import FairQueue
from heliograph.monitoring import MeasuredQueue, written_figures
from heliograph.processes import clock_watch
from heliograph.processes.carriers import Dispatch
from heliograph.processes.checks.secret_key import require_secret_key
from heliograph.processes.checks.surroundings import Surroundings
from heliograph.processes.exclusive import (
    AlreadyServed,
    DatabaseLock,
    begin_serving_here,
    require_schema,
)
from heliograph.processes.roles import is_active_scheduler
from heliograph.processes.running_carrier import GRACE_S
from heliograph.processes.watchdog import exit_unless_ended
from heliograph.webhooks.deliver import STOP_S, Deliveries
from heliograph.webhooks.http.address_guard import allowed_networks

REDIS_EVERY_S: Final = 5.0  # whether it answers is asked
JOBS_LOOK_S: Final = 0.5  # how often it asks whether the jobs of all are its own to do
COMMON_JOBS: Final = "heliograph.processes.common_jobs"
AGAIN_S: Final = 1.0  # when the database is not there yet to begin anew
# For what a process was before to end, and for each try to begin: all that either waits for has a
# limit of its own, of 10 s and less, so what has not ended by then hangs. A database that is away
# ends a try, so however long an outage lasts, it is no reason to go.
ANEW_WITHIN_S: Final = 60.0

log = Log(__name__)


class Sending:
    """Serves the carriers and webhooks of one process. Call `take_queue` before anything else,
    `start` when the configuration is known, `stop` before the end, and `release` in any case.

    `kind` is one of those in `database/leases.py`. `carrier_id` is the carrier of a process that
    serves only one.
    """

    def __init__(
        self,
        db: Database,
        cache: ConfigCache,
        settings: Settings,
        queue: FairQueue,
        kind: str,
        carrier_id: int | None = None,
    ) -> None:
        self._db = db
        self._cache = cache
        self._settings = settings
        self._queue = queue
        self._database_lock = DatabaseLock(db, shared=kind != SERVE)
        self._lease = Lease(db, kind, carrier_id, secret_keys=key_ids(settings.secret_keys))
        self._redis_answers: bool | None = None  # None: it is not used, or was not asked yet
        self._surroundings = Surroundings(db, settings)
        self._lease.figures = self._figures
        self._tasks: list[asyncio.Task[None]] = []
        self._may_claim_now = True  # also for a Dispatch that is made while the lock is lost
        self._dispatch: Dispatch | None = None
        self._deliveries: Deliveries | None = None
        self.keeping: asyncio.Task[None]  # ends when this process may not go on

    async def take_queue(self) -> None:
        """Takes the database's queue, or its part of it. Raises AlreadyServed, SettingError,
        OperationalError, ClockApart, Unavailable.
        """
        await self._register()
        if self._lease.kind == SERVE:  # before texts and events compete with it
            with survive_faults("jobs_not_begun"):
                await _load_jobs()

    async def start(self) -> None:
        """Begins to send, and starts the tasks that go with it."""
        try:
            await self._begin()
        except BaseException:
            await self._end(grace_s=0)
            raise
        self.keeping = asyncio.create_task(self._keep())
        self._tasks = [
            asyncio.create_task(self._database_lock.keep(self._may_claim)),
            asyncio.create_task(clock_watch.keep_comparing(self._db)),
            asyncio.create_task(self._surroundings.keep()),
            asyncio.create_task(restored_copy.keep_marking(self._db, self._settings.data_dir)),
        ]
        if self._settings.redis_url:
            self._tasks += self._follow_redis(self._settings.redis_url)
        # a server has the jobs from the start
        if self._lease.kind != SERVE or not await self._has_begun_jobs():
            self._tasks.append(asyncio.create_task(self._begin_jobs()))

    def _figures(self) -> str | None:
        return written_figures(
            version("heliograph"),
            self._settings.data_dir,
            self._redis_answers,
            has_carriers=True,
            found=self._surroundings.found,
        )

    def _measured(self) -> Mapping[int, MeasuredQueue]:
        return self._dispatch.measured_queues() if self._dispatch is not None else {}

    def _follow_redis(self, redis_url: str) -> list[asyncio.Task[None]]:
        from heliograph.processes.wake import listen, redis_answers  # only now: it loads Redis

        async def ask_redis() -> None:
            self._redis_answers = await redis_answers(redis_url)

        async def keep_asking() -> None:
            await repeat(ask_redis, wait=REDIS_EVERY_S, first_after_s=0.0, fault="redis_not_asked")

        return [
            asyncio.create_task(listen(redis_url, self.wake)),
            asyncio.create_task(keep_asking()),
        ]

    async def _begin_jobs(self) -> None:
        """Waits until this process is the one that does the jobs of all, and begins them."""
        await asyncio.sleep(JOBS_LOOK_S)  # a start has better things to do
        await until(self._has_begun_jobs, look_s=JOBS_LOOK_S)

    async def _has_begun_jobs(self) -> bool:
        """Begins the jobs if it is for this process to do them, and returns whether they have
        begun. If they cannot be loaded, the next look tries again: nobody else does them.
        """
        if not is_active_scheduler(self._lease):
            return False
        with survive_faults("jobs_not_begun"):
            await _load_jobs()
            from heliograph.processes import common_jobs

            self._tasks += common_jobs.start(
                self._db,
                self._settings,
                self._lease,
                cache=self._cache,
                queue=self._queue,
                wake=self.wake,
                measured=self._measured,
            )
            return True
        return False

    def wake(self, carrier_ids: set[int]) -> None:
        """Wakes these carriers, because something was queued for them."""
        if self._dispatch is not None:
            self._dispatch.wake(carrier_ids)

    def count_answering(self) -> int:
        """Returns how many live processes answer the API, as it was last seen."""
        return self._lease.count(*ANSWERING)

    async def stop(self) -> None:
        """Stops claiming, finishes the windows, unbinds. Raises why this process could not
        go on, if that was it.
        """
        ended_itself = self.keeping.done()
        for task in (*self._tasks, self.keeping):
            task.cancel()
        showing = asyncio.create_task(self._keep_lease())
        await self._end(GRACE_S)
        # if it fails, a copy of the last minute is not told
        with survive_faults("home_not_marked", level="warning"):
            await asyncio.to_thread(
                restored_copy.mark_as_served_here, self._db, self._settings.data_dir
            )
        showing.cancel()
        if ended_itself:
            self.keeping.result()

    async def release(self) -> None:
        """Gives up what this process held: others need not wait for it, nor leave its carrier to
        it.
        """
        if self._lease.number:
            # if it fails, they see that it is gone by its beat
            with survive_faults("lease_not_ended", level="warning"):
                await asyncio.to_thread(self._lease.end)
        self._database_lock.end()

    def _may_claim(self, allowed: bool) -> None:
        self._may_claim_now = allowed
        if self._dispatch is not None:
            self._dispatch.may_claim(allowed)

    async def _register(self) -> None:
        """Registers this process. If it has the database to itself, it knows that all others are
        dead, and need not wait until their beats have stood still.
        """
        alone = await self._database_lock.take()
        try:
            await asyncio.to_thread(require_schema, self._db)
            await asyncio.to_thread(clock_check.begin, self._db)
            await asyncio.to_thread(require_secret_key, self._db, self._settings)
            await asyncio.to_thread(
                begin_serving_here, self._db, self._settings.data_dir, anew=bool(self._lease.number)
            )
            await asyncio.to_thread(self._lease.begin, self._replaced() if alone else ())
            # again: a rotation sees who is registered
            await asyncio.to_thread(require_secret_key, self._db, self._settings)
        finally:
            if alone:
                await self._database_lock.admit_others()

    def _replaced(self) -> Sequence[str]:
        """Returns the kinds of processes of which none lives: those that share the queue, and on
        SQLite the console, too, which holds the data directory as this one does.
        """
        return SENDING if self._db.postgresql else (*SENDING, CONSOLE)

    async def _begin(self) -> None:
        self._dispatch = Dispatch(self._db, self._cache, self._settings, self._lease, self._queue)
        self._dispatch.may_claim(self._may_claim_now)
        if self._lease.kind in DELIVERING:
            deliveries = Deliveries(
                self._db,
                self._lease,
                self._settings.secret_keys,
                allowed_networks(self._settings),
                moved=self._dispatch.count_traffic,
            )
            await deliveries.start()
            self._deliveries = deliveries  # not before: what has not begun cannot be stopped
        await self._dispatch.start()

    async def _end(self, grace_s: float) -> None:
        """Ends deliveries and carriers, both at once. Whatever a receiver does, a process that
        begins anew does not wait for it. This never fails: what a part could not store is found
        out as after a kill.
        """
        ending: list[Coroutine[Any, Any, None]] = []
        if self._deliveries is not None:
            ending.append(self._deliveries.stop(min(grace_s, STOP_S)))
            self._deliveries = None
        if self._dispatch is not None:
            ending.append(self._dispatch.stop(grace_s))
        for failed in await asyncio.gather(*ending, return_exceptions=True):
            if failed is not None:
                log.error("part_not_ended", **error_fields(failed))

    async def _keep(self) -> None:
        """Shows that this process lives. If it did not for so long that others may have taken over
        what it held, it begins anew.

        Raises AlreadyServed when a server has taken over the whole database, NotFound when the
        carrier that it was for was removed.
        """
        if self._db.postgresql:
            await repeat(self._check_lease, wait=LOOK_S, fault=None)
        await asyncio.get_running_loop().create_future()  # nobody else has a SQLite file

    async def _check_lease(self) -> None:
        is_retired = False
        with survive_faults("lease_not_kept", level="warning"):
            is_retired = await self._is_retired()
        if is_retired or not self._lease.may_write():
            await self._begin_anew()
        if self._dispatch is not None and self._dispatch.is_for_nothing:
            raise NotFound("The carrier that this process was for was removed.")

    async def _keep_lease(self) -> None:
        """Shows that this process still lives, while it ends: for longer than others wait for a
        beat before they take what is on the wire for in doubt.
        """
        if self._db.postgresql:
            # if they did take it, the answers that still come settle it
            await repeat(self._is_retired, wait=LOOK_S, fault="lease_not_kept", level="warning")

    async def _is_retired(self) -> bool:
        """Shows that this process lives. Says whether others have taken it for dead. Raises
        Unavailable.
        """
        try:
            await self._lease.refresh_in_thread()
        except LeaseLost:
            return True
        return False

    async def _begin_anew(self) -> None:
        """Closes the binds at once; answers that came are stored, what was claimed and not written
        is given back. Then this process begins as a new one does. What hangs meanwhile ends the
        process: then the service manager begins a new one.
        """
        log.warning("worker_begins_anew", worker=self._lease.number)
        with exit_unless_ended(ANEW_WITHIN_S, _log_that_it_hangs):
            await self._end(grace_s=0)
        await until(self._has_begun, look_s=AGAIN_S)
        log.info("worker_begun_anew", worker=self._lease.number)

    async def _has_begun(self) -> bool:
        """Tries to begin, and returns whether this process has begun. Raises AlreadyServed and
        SettingError, because another try would find the same.
        """
        try:
            with exit_unless_ended(ANEW_WITHIN_S, _log_that_it_hangs):
                await self._register()
                # what could not be stored while the database was away
                await self._end(grace_s=0)
                await self._begin()
        except (AlreadyServed, SettingError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it was, this process must come back
            cancelling.raise_if_cancelled(error)
            log.warning("worker_not_begun", **error_fields(error))
            return False
        return True


def _log_that_it_hangs() -> None:
    log.error("worker_hangs", within_s=ANEW_WITHIN_S)


async def _load_jobs() -> None:
    """Loads the jobs, which work in nearly every room. The loop does not wait until all are
    there.
    """
    await asyncio.to_thread(import_module, COMMON_JOBS)
