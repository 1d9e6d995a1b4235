"""`heliograph worker`, `carrier run` and `scheduler` are processes that send, or see to what is
sent, for PostgreSQL.
"""

import asyncio
import signal

import uvloop

from heliograph.api.loop_delay import watch_loop_delay
from heliograph.base import cancelling, open_files
from heliograph.base.log import Log
from heliograph.base.settings import SettingError, Settings
from heliograph.carriers import carrier_named, connection_settings
from heliograph.database import clock_check, processes
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue, account_ends
from heliograph.processes.checks.secret_key import require_secret_key
from heliograph.processes.exclusive import AlreadyServed, require_schema, tune_collector
from heliograph.processes.logs import log_unexpected
from heliograph.processes.metrics_server import serve_metrics
from heliograph.processes.sending import Sending
from heliograph.processes.watchdog import exit_in_time

__all__ = ["AlreadyServed", "run"]

log = Log(__name__)


def run(
    settings: Settings, kind: str, carrier: str | None, metrics_host: str, metrics_port: int | None
) -> None:
    """Works until SIGTERM or SIGINT. `kind` is one of those in `database/leases.py`. `carrier`
    is the name of the carrier that it is for, if there is only one. What it counts is shown at
    `metrics_port`, if there is one. Raises AlreadyServed, SettingError, NotFound for the carrier,
    SecretUnreadable for its password.
    """
    if not settings.database_url.startswith("postgresql"):
        raise SettingError(
            "DATABASE_URL",
            "SQLite",
            "postgresql://…, because several processes need PostgreSQL; with SQLite, run"
            " heliograph serve",
        )
    open_files.raise_limit()
    processes.set_process_kind(kind)
    with serve_metrics(metrics_host, metrics_port, settings.metrics_token):
        uvloop.run(_work(settings, kind, carrier))


def _id_of(db: Database, name: str, settings: Settings) -> int:
    """Returns the id of a carrier that this process could bind to: once it has begun, others
    leave the carrier to it.
    """
    require_schema(db)
    require_secret_key(db, settings)
    with db.read() as tx:
        carrier = carrier_named(tx, name)
        if carrier.type == "smpp":
            connection_settings(tx, carrier, settings.secret_keys)
        return carrier.id


async def _work(settings: Settings, kind: str, carrier: str | None) -> None:
    db = Database(settings.database_url, settings.synchronous_commit)
    cache = ConfigCache(db)
    queue = FairQueue()
    await asyncio.to_thread(clock_check.begin, db)  # before anything is written
    carrier_id = (
        await asyncio.to_thread(_id_of, db, carrier, settings) if carrier is not None else None
    )
    sending = Sending(db, cache, settings, queue, kind, carrier_id)
    asyncio.get_running_loop().set_exception_handler(log_unexpected)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        await sending.take_queue()
        await cache.refresh()
        tasks = [asyncio.create_task(cache.poll()), asyncio.create_task(watch_loop_delay())]
        queue.resume(await asyncio.to_thread(account_ends, db))
        tune_collector()  # before events wait for it
        await sending.start()
        sending.keeping.add_done_callback(lambda _: stopped.set())
        log.info("working", kind=kind, carrier=carrier)
        await stopped.wait()
        exit_in_time()
        await sending.stop()
        await cancelling.cancel_and_wait(*tasks)
    finally:
        await sending.release()
        await db.close_hot()
        db.close()
