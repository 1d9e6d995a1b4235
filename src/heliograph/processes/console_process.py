"""`heliograph console` serves the operator's console and its sign-in, and nothing else, at an
address of its own. So the console can be where the API is not, such as in a network that only
operators reach.
"""

import asyncio
import socket
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Final

import uvloop

from heliograph.api.listening import address_of, listen, serve_until_stopped
from heliograph.api.shutdown import Server
from heliograph.api.web_pages_app import WebPagesApp
from heliograph.base import open_files
from heliograph.base.log import survive_faults
from heliograph.base.secrets import key_ids
from heliograph.base.settings import Settings
from heliograph.console import console_only
from heliograph.database import processes
from heliograph.database.database import Database
from heliograph.database.leases import CONSOLE, Lease
from heliograph.monitoring import written_figures
from heliograph.processes import api_processes, clock_watch, logs
from heliograph.processes.checks.secret_key import require_secret_key
from heliograph.processes.exclusive import AlreadyServed, lock_data_dir, tune_collector
from heliograph.processes.watchdog import exit_in_time

__all__ = ["AlreadyServed", "run"]

SQLITE_ADVICE: Final = (
    "With SQLite one process has the database: `heliograph serve` shows the console itself, at"
    " /console."
)


def run(settings: Settings, host: str, port: int) -> None:
    """Serves the console until SIGTERM or SIGINT. On SQLite it holds the data directory, as a
    server does. Raises AlreadyServed, AddressInUse, SettingError, ClockApart, Unavailable.
    """
    open_files.raise_limit()
    processes.set_process_kind(CONSOLE)
    with ExitStack() as held:
        if not settings.database_url.startswith("postgresql"):
            try:
                held.enter_context(lock_data_dir(settings.data_dir))
            except AlreadyServed as error:
                raise AlreadyServed(f"{error} {SQLITE_ADVICE}") from error
        api_processes.require_database(settings)
        listener = held.enter_context(listen(host, port))
        address = address_of(host, listener.getsockname()[1])
        uvloop.run(
            _serve(
                # it is the console that is asked for, whatever the API's own processes show
                replace(
                    settings,
                    console_url=settings.console_url or settings.base_url or address,
                    console=True,
                ),
                listener,
            )
        )


async def _serve(settings: Settings, listener: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(logs.log_unexpected)
    db = Database(settings.database_url, settings.synchronous_commit)
    lease = Lease(db, CONSOLE, secret_keys=key_ids(settings.secret_keys))
    lease.figures = lambda: written_figures(
        version("heliograph"), settings.data_dir, None, has_carriers=False
    )
    try:
        # a SQLite file has one, so a row that is there is of one that was killed
        await asyncio.to_thread(lease.begin, () if db.postgresql else (CONSOLE,))
        # again: a rotation sees who is registered
        await asyncio.to_thread(require_secret_key, db, settings)
        app = WebPagesApp(settings, db, partial(console_only, settings, db))
        server = Server(app, settings.drain_s or 0.0)
        tasks = [
            asyncio.create_task(task)
            for task in (api_processes.keep(lease), clock_watch.keep_comparing(db))
        ]
        ending = asyncio.create_task(_end_in_time(server))
        tune_collector()
        server.install_signal_handlers()
        await serve_until_stopped(server, listener, ())
        for task in (*tasks, ending):
            task.cancel()
        await app.stop()
        with survive_faults("lease_not_ended", level="warning"):
            await asyncio.to_thread(lease.end)
    finally:
        await db.close_hot()
        db.close()


async def _end_in_time(server: Server) -> None:
    await server.ending.wait()
    exit_in_time()
