"""`heliograph serve` runs everything in one process. There is one server per data directory and
per database; commands may run beside it.
"""

import asyncio
import socket
from dataclasses import replace
from functools import partial

import uvloop

from heliograph.api.app import App
from heliograph.api.client_address import Proxies
from heliograph.api.listening import (
    AddressInUse,
    WhenReady,
    address_of,
    listen,
    serve_until_stopped,
)
from heliograph.api.shutdown import Server
from heliograph.base import open_files
from heliograph.base.log import Log
from heliograph.base.settings import Settings
from heliograph.console import portal_and_console
from heliograph.database import migrate, processes
from heliograph.database.database import Database
from heliograph.database.leases import SERVE
from heliograph.processes.exclusive import AlreadyServed, lock_data_dir, tune_collector
from heliograph.processes.logs import log_unexpected
from heliograph.processes.metrics_server import serve_metrics_at
from heliograph.processes.sending import Sending
from heliograph.processes.shared_limits import CountingLock, share_limits
from heliograph.processes.watchdog import exit_in_time

__all__ = ["AddressInUse", "AlreadyServed", "run"]

log = Log(__name__)


def run(settings: Settings, host: str, port: int, when_ready: WhenReady | None = None) -> None:
    """Serves until SIGTERM or SIGINT. `when_ready(port)` runs once requests are answered; when it
    returns False the server stops.

    Raises AlreadyServed, AddressInUse, SettingError.
    """
    open_files.raise_limit()
    processes.set_process_kind(SERVE)
    with (
        lock_data_dir(settings.data_dir),
        listen(host, port) as listener,
        serve_metrics_at(settings.metrics_address, settings.metrics_token),
    ):
        if settings.database_url.startswith("sqlite"):
            migrate.upgrade(settings.database_url)
        # what the documentation shows unless there is a public one
        address = address_of(host, listener.getsockname()[1])
        uvloop.run(
            _serve(replace(settings, base_url=settings.base_url or address), listener, when_ready)
        )


async def _serve(settings: Settings, listener: socket.socket, when_ready: WhenReady | None) -> None:
    db = Database(settings.database_url, settings.synchronous_commit)
    app = App(
        settings,
        db,
        lambda carrier_ids: sending.wake(carrier_ids),
        partial(portal_and_console, settings, db, Proxies(settings.trusted_proxies).client_of),
    )
    sending = Sending(db, app.cache, settings, app.queue, SERVE)
    asyncio.get_running_loop().set_exception_handler(log_unexpected)
    counting = CountingLock(db, settings)
    # 0: there is one a database, so nobody else would answer
    server = Server(app, settings.drain_s or 0.0)
    try:
        await sending.take_queue()
        await counting.take()
        await app.start()
        tune_collector()  # it takes a tenth of a second, in which nothing could be delivered
        await sending.start()
        keeping_lock, sharing = (
            asyncio.create_task(counting.keep()),
            asyncio.create_task(share_limits(app.limiter, sending.count_answering)),
        )
        server.install_signal_handlers()
        sending_stopped = asyncio.create_task(_stop_sending(sending, server.ending))
        await serve_until_stopped(server, listener, (sending.keeping, keeping_lock), when_ready)
        refused = keeping_lock.done()
        for task in (keeping_lock, sharing):
            task.cancel()
        await asyncio.gather(sending_stopped, app.stop())
        if refused:
            keeping_lock.result()
    finally:
        counting.end()
        await sending.release()
        await db.close_hot()
        db.close()


async def _stop_sending(sending: Sending, ending: asyncio.Event) -> None:
    """Stops sending while requests are still answered: what they queue is sent by the next
    server.
    """
    await ending.wait()
    exit_in_time()
    await sending.stop()
