"""`heliograph serve`: everything in one process. One server per data directory and per database; commands may run beside it."""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import structlog
import uvicorn
import uvloop

from heliograph.base import clock, migrate
from heliograph.base.db import Database
from heliograph.base.settings import SettingError, Settings
from heliograph.entry.app import App
from heliograph.entry.dispatch import Dispatch, register_worker

LOCK_FILE: Final = "serve.lock"
SHUTDOWN_S: Final = 8  # for requests under way when stopping
BACKLOG: Final = 2_048

log = structlog.get_logger(__name__)


class AlreadyServed(Exception):
    """Another server holds this data directory."""


def run(settings: Settings, host: str, port: int, when_ready: Callable[[int], Awaitable[None]] | None = None) -> None:
    """Serves until SIGTERM or SIGINT. `when_ready(port)` runs beside, once requests are answered.

    Raises AlreadyServed, SettingError."""
    with _only_server(settings.data_dir):
        if settings.database_url.startswith("sqlite"):
            migrate.upgrade(settings.database_url)
        uvloop.run(_serve(settings, host, port, when_ready))


@contextmanager
def _only_server(data_dir: Path) -> Iterator[None]:
    with open(data_dir / LOCK_FILE, "a+") as file:
        _lock(file)
        yield


def _lock(file: IO[str]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        raise AlreadyServed(f"Another server (process {holder}) uses the data directory {Path(file.name).parent}.") from error
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()


async def _serve(settings: Settings, host: str, port: int, when_ready: Callable[[int], Awaitable[None]] | None) -> None:
    db = Database(settings.database_url)
    try:
        worker = await asyncio.to_thread(_register, db)
        queued: list[Dispatch] = []
        app = App(settings, db, lambda carrier_ids: queued[0].wake(carrier_ids))
        await app.start()
        dispatch = Dispatch(db, app.cache, settings, worker)
        queued.append(dispatch)
        await dispatch.start()
        await _answer(app, host, port, when_ready)
        await dispatch.stop()
        await app.stop()
    finally:
        await db.close_hot()
        db.close()


def _register(db: Database) -> int:
    with db.read() as tx:
        if not migrate.is_current(tx):
            raise SettingError("DATABASE_URL", "a database without this version's schema", "run `heliograph migrate` first")
    with db.write() as tx:
        return register_worker(tx, "serve", clock.now_ms())


async def _answer(app: App, host: str, port: int, when_ready: Callable[[int], Awaitable[None]] | None) -> None:
    server = uvicorn.Server(uvicorn.Config(
        app, host=host, port=port, http="httptools", loop="none", lifespan="off", access_log=False, log_config=None, server_header=False,
        date_header=True, proxy_headers=False, backlog=BACKLOG, timeout_graceful_shutdown=SHUTDOWN_S, timeout_keep_alive=65))
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.005)
    if server.started:
        bound = server.servers[0].sockets[0].getsockname()[1]
        log.info("serving", address=f"http://{host}:{bound}", database="sqlite" if not app.postgresql else "postgresql")
        if when_ready is not None:
            await when_ready(bound)
    await serving


