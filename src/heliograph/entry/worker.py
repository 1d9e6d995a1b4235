"""`heliograph worker`: everything but the API in one process, for PostgreSQL: carriers, the simulator, sweeps."""

import asyncio
import signal

import structlog
import uvloop
from prometheus_client import start_http_server

from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.leases import Retired
from heliograph.base.settings import SettingError, Settings
from heliograph.entry.app import account_ends_of
from heliograph.entry.only_server import AlreadyServed
from heliograph.entry.sending import Sending
from heliograph.messages import FairQueue

__all__ = ["AlreadyServed", "Retired", "run"]

log = structlog.get_logger(__name__)


def run(settings: Settings, metrics_port: int | None) -> None:
    """Works until SIGTERM or SIGINT. `metrics_port`: where loopback peers may read what it counts. Raises AlreadyServed, Retired, SettingError."""
    if not settings.database_url.startswith("postgresql"):
        raise SettingError("DATABASE_URL", "SQLite", "postgresql://…, for what is more than one process; heliograph serve is one")
    if metrics_port is not None:
        _show_metrics(metrics_port)
    uvloop.run(_work(settings))


def _show_metrics(port: int) -> None:
    try:
        start_http_server(port, "127.0.0.1")
    except OSError as error:
        raise SettingError("--metrics-port", f"{port} ({error.strerror})", "a free port of this machine") from error


async def _work(settings: Settings) -> None:
    db = Database(settings.database_url)
    cache = ConfigCache(db)
    queue = FairQueue()
    sending = Sending(db, cache, settings, queue)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        await sending.hold("worker")
        await cache.refresh()
        polling = asyncio.create_task(cache.poll())
        queue.resume(await asyncio.to_thread(account_ends_of, db))
        await sending.start()
        sending.keeping.add_done_callback(lambda _: stopped.set())
        log.info("working")
        await stopped.wait()
        await sending.stop()
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    finally:
        sending.release()
        await db.close_hot()
        db.close()
