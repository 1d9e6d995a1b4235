"""`heliograph api` runs the HTTP API in processes of its own, for PostgreSQL. What they queue is
sent by `heliograph worker` (or `serve`).
"""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection

import uvloop

from heliograph.api.app import App
from heliograph.api.client_address import Proxies
from heliograph.api.listening import address_of, listen, serve_until_stopped
from heliograph.api.shutdown import API_GRACE_S, Server
from heliograph.base import open_files
from heliograph.base.errors import ServiceError
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.base.secrets import key_ids
from heliograph.base.settings import SettingError, Settings
from heliograph.console import portal_and_console
from heliograph.database import clock_check, processes
from heliograph.database.database import Database
from heliograph.database.leases import ANSWERING, API, LOOK_S, Lease, LeaseLost
from heliograph.monitoring import written_figures
from heliograph.processes import clock_watch, logs
from heliograph.processes.checks.secret_key import require_secret_key
from heliograph.processes.checks.surroundings import Surroundings
from heliograph.processes.exclusive import refuse_restored_copy, require_schema, tune_collector
from heliograph.processes.metrics_server import serve_metrics_at
from heliograph.processes.prefork import HOPELESS, Siblings
from heliograph.processes.shared_limits import CountingLock, needs_redis, share_limits
from heliograph.processes.wake import WakeSender
from heliograph.processes.watchdog import exit_in_time

log = Log(__name__)


def run(settings: Settings, host: str, port: int, workers: int) -> int:
    """Answers until SIGTERM or SIGINT, and returns the exit status. Raises AddressInUse,
    SettingError.
    """
    if not settings.database_url.startswith("postgresql"):
        raise SettingError(
            "DATABASE_URL",
            "SQLite",
            "postgresql://…, because several processes need PostgreSQL; with SQLite, run"
            " heliograph serve",
        )
    if workers > 1 and not settings.redis_url:
        raise needs_redis(f"no value, but {workers} API processes")
    open_files.raise_limit()
    processes.set_process_kind(API)
    require_database(settings)
    with (
        listen(host, port) as listener,
        tempfile.TemporaryDirectory(prefix="heliograph-metrics-") as metrics_dir,
    ):
        # where all of them count: /metrics of each adds it up
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics_dir
        address = address_of(host, listener.getsockname()[1])
        with serve_metrics_at(settings.metrics_address, settings.metrics_token):
            return Siblings(
                workers,
                _process,
                (replace(settings, base_url=settings.base_url or address), listener),
            ).run()


def require_database(settings: Settings) -> None:
    """Checks, before anything is served, that the database can be used. Raises SettingError;
    ClockApart; OperationalError, which says why, when the database cannot be reached.
    """
    db = Database(settings.database_url, settings.synchronous_commit)
    try:
        with db.engine.connect():
            pass
        require_schema(db)
        clock_check.begin(db)
        require_secret_key(db, settings)
        refuse_restored_copy(db, settings.data_dir)
    finally:
        db.close()


def _process(settings: Settings, listener: socket.socket, signals: Connection) -> None:
    # Ctrl-C is for the one that starts this one, which passes it on
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.set_up(settings)
    processes.set_process_kind(API)
    try:
        uvloop.run(_answer(settings, listener, signals))
    except SettingError as error:
        sys.stderr.write(f"heliograph: {error}\n")
        sys.exit(HOPELESS)
    except ServiceError as error:  # the database was away for a moment: another start is worth it
        sys.stderr.write(f"heliograph: {error}\n")
        sys.exit(1)


async def _answer(settings: Settings, listener: socket.socket, signals: Connection) -> None:
    asyncio.get_running_loop().set_exception_handler(logs.log_unexpected)
    db = Database(settings.database_url, settings.synchronous_commit)
    counting, lease = (
        CountingLock(db, settings),
        Lease(db, API, secret_keys=key_ids(settings.secret_keys)),
    )
    surroundings = Surroundings(db, settings)
    lease.figures = lambda: written_figures(
        version("heliograph"),
        settings.data_dir,
        None,
        has_carriers=False,
        found=surroundings.found,
    )
    wake_sender = WakeSender(settings.redis_url) if settings.redis_url else None
    try:
        await asyncio.to_thread(require_schema, db)
        await asyncio.to_thread(clock_check.begin, db)
        await asyncio.to_thread(refuse_restored_copy, db, settings.data_dir, anew=True)
        await counting.take()
        await asyncio.to_thread(lease.begin)
        # only now: a rotation sees who is registered
        await asyncio.to_thread(require_secret_key, db, settings)
        app = App(
            settings,
            db,
            _wake_nobody if wake_sender is None else wake_sender.wake_others,
            partial(portal_and_console, settings, db, Proxies(settings.trusted_proxies).client_of),
        )
        await app.start()
        keeping_lock = asyncio.create_task(counting.keep())
        tasks = [
            asyncio.create_task(task)
            for task in (
                keep(lease),
                clock_watch.keep_comparing(db),
                surroundings.keep(),
                share_limits(app.limiter, lambda: lease.count(*ANSWERING)),
            )
        ]
        tune_collector()
        server = Server(app, API_GRACE_S if settings.drain_s is None else settings.drain_s)
        ending = asyncio.create_task(_end_in_time(server))
        _follow_signals(server, signals)
        await serve_until_stopped(server, listener, (keeping_lock,))
        refused = keeping_lock.done()
        for task in (*tasks, keeping_lock, ending):
            task.cancel()
        await app.stop()
        with survive_faults("lease_not_ended", level="warning"):
            await asyncio.to_thread(lease.end)
        if refused:
            keeping_lock.result()
    finally:
        if wake_sender is not None:
            await wake_sender.close()
        counting.end()
        await db.close_hot()
        db.close()


def _wake_nobody(carrier_ids: set[int]) -> None:
    """Does nothing: without Redis nobody is told, and carriers look every 250 ms."""


async def _end_in_time(server: Server) -> None:
    await server.ending.wait()
    exit_in_time()


def _follow_signals(server: Server, signals: Connection) -> None:
    """Obeys signals. What the parent passes on is for all of its children. A SIGTERM to this
    process is for it alone, unless the other follows: a service manager signals all processes.
    When the parent is gone, nobody would start this process again, and its place on the socket
    is wanted: that is the end too.
    """
    loop = asyncio.get_running_loop()

    def hear() -> None:
        try:
            server.handle_signal(signals.recv())
        except EOFError:
            loop.remove_reader(signals.fileno())
            server.stop()

    loop.add_reader(signals.fileno(), hear)
    loop.add_signal_handler(signal.SIGTERM, server.leave_shared_socket)


async def _show_life(lease: Lease) -> None:
    """Shows that this process is alive. A retired process holds no work here: it only begins
    anew.
    """
    try:
        await lease.refresh_in_thread()
    except LeaseLost:
        await asyncio.to_thread(lease.begin)


async def keep(lease: Lease) -> None:
    """Shows that this process lives."""
    await repeat(lambda: _show_life(lease), wait=LOOK_S, fault="lease_not_kept", level="warning")
