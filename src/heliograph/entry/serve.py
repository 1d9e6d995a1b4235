"""`heliograph serve`: everything in one process. One server per data directory and per database; commands may run beside it."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import structlog
import uvicorn
import uvloop

from heliograph.base import clock, migrate
from heliograph.base.db import Database
from heliograph.base.settings import SettingError, Settings
from heliograph.entry.app import App
from heliograph.entry.dispatch import Dispatch, register_worker
from heliograph.entry.malformed import Protocol, not_told_twice
from heliograph.entry.only_server import AlreadyServed, DatabaseHeld, only_server_in
from heliograph.entry.pruning import keep_pruning

SHUTDOWN_S: Final = 8  # for requests under way when stopping
KEEP_ALIVE_S: Final = 65  # longer than the 60 s after which common proxies close an idle connection themselves
BACKLOG: Final = 2_048
COLLECT_AFTER: Final = (10_000, 20, 50)  # objects made, and collections of the younger generation: Python's 700 fits smaller programs
STARTING_POLL_S: Final = 0.005

WhenReady: TypeAlias = Callable[[int], Coroutine[None, None, bool]]

__all__ = ["AddressInUse", "AlreadyServed", "run"]

log = structlog.get_logger(__name__)


class AddressInUse(Exception):
    """The address cannot be listened on."""


def run(settings: Settings, host: str, port: int, when_ready: WhenReady | None = None) -> None:
    """Serves until SIGTERM or SIGINT. `when_ready(port)` runs once requests are answered; when it returns False the server stops.

    Raises AlreadyServed, AddressInUse, SettingError."""
    with only_server_in(settings.data_dir), _listening(host, port) as listener:
        if settings.database_url.startswith("sqlite"):
            migrate.upgrade(settings.database_url)
        address = address_of(host, listener.getsockname()[1])  # what the documentation shows unless there is a public one
        uvloop.run(_serve(replace(settings, base_url=settings.base_url or address), listener, when_ready))


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG)
    except OSError as error:
        why = (error.strerror or "").partition(" (while")[0]  # without the address, which create_server repeats
        raise AddressInUse(f"Cannot listen on {host} port {port}: {why}. Name another with --host or --port.") from error
    with listener:
        yield listener


def address_of(host: str, port: int) -> str:
    """`http://127.0.0.1:8080`, `http://[::1]:8080` (RFC 3986, 3.2.2)."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _tune_collector() -> None:
    """What was made at the start stays: it need not be looked through again and again while requests come and go."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


async def _serve(settings: Settings, listener: socket.socket, when_ready: WhenReady | None) -> None:
    db = Database(settings.database_url)
    held = DatabaseHeld(db)
    try:
        await held.begin()
        worker = await asyncio.to_thread(_register, db)
        app = App(settings, db, lambda carrier_ids: dispatch.wake(carrier_ids))
        await app.start()
        dispatch = Dispatch(db, app.cache, settings, worker, app.queue)
        await dispatch.start()
        pruning = asyncio.create_task(keep_pruning(db))
        keeping = asyncio.create_task(held.keep(worker, dispatch.may_claim))
        _tune_collector()
        await _answer(app, listener, when_ready, keeping)
        pruning.cancel()
        keeping.cancel()
        await dispatch.stop()
        await app.stop()
        if not keeping.cancelled():
            keeping.result()  # raises why it ended, and with it the server
    finally:
        held.end()
        await db.close_hot()
        db.close()


def _register(db: Database) -> int:
    with db.read() as tx:
        if not migrate.is_current(tx):
            raise SettingError("DATABASE_URL", "a database without this version's schema", "one that `heliograph migrate` has brought up to date")
    with db.write() as tx:
        return register_worker(tx, "serve", clock.now_ms())


class _Server(uvicorn.Server):
    """uvicorn without its signal handling: it would raise SIGTERM anew when it has stopped, before the carriers are unbound."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Answers what is under way and stops; asked a second time, it does not wait for slow clients."""
        self.force_exit = self.should_exit
        self.should_exit = True


async def _answer(app: App, listener: socket.socket, when_ready: WhenReady | None, keeping: "asyncio.Task[None]") -> None:
    """Until a signal, or the end of `keeping`: then this process may not go on."""
    server = _Server(uvicorn.Config(
        app, http=Protocol, ws="none", loop="none", lifespan="off", access_log=False, log_config=None, server_header=False, proxy_headers=False,
        backlog=BACKLOG, timeout_graceful_shutdown=SHUTDOWN_S, timeout_keep_alive=KEEP_ALIVE_S))
    logging.getLogger("uvicorn.error").addFilter(not_told_twice)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, server.stop)
    keeping.add_done_callback(lambda _: server.stop())
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(STARTING_POLL_S)
    host, port, *_ = listener.getsockname()
    log.info("serving", address=address_of(host, port), database="postgresql" if app.postgresql else "sqlite")
    if when_ready is not None and not await _unless_stopped(when_ready(port), serving):
        server.stop()
    await serving


async def _unless_stopped(ready: Coroutine[None, None, bool], serving: "asyncio.Task[None]") -> bool:
    """What `when_ready` returns; False when the server was told to stop before it had."""
    told = asyncio.create_task(ready)
    await asyncio.wait({told, serving}, return_when=asyncio.FIRST_COMPLETED)
    if told.done():
        return told.result()
    told.cancel()
    await asyncio.gather(told, return_exceptions=True)
    return False
