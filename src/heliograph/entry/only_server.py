"""One server per data directory and per database: the locks that keep a second one away, and what happens when one is lost.

Of the data directory it is a lock of a file, which a process keeps for as long as it lives. Of a PostgreSQL database, which other machines
reach too, it is an advisory lock: that ends with its connection. Then nothing is claimed until it is held again, and a server that finds
that another one has taken the database over ends (docs/decisions.md, O1).
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa
import structlog

from heliograph.base.advisory import AdvisoryLock
from heliograph.base.db import Database
from heliograph.base.errors import Unavailable
from heliograph.messages.tables import workers

LOCK_FILE: Final = "serve.lock"
DATABASE_LOCK: Final = 0x48454C53
TRIES: Final = 20  # at the start: PostgreSQL takes a moment to see that a killed server is gone
RETRY_S: Final = 0.1

log = structlog.get_logger(__name__)


class AlreadyServed(Exception):
    """Another server holds this data directory or database."""


@contextmanager
def only_server_in(data_dir: Path) -> Iterator[None]:
    """Holds the data directory. Raises AlreadyServed."""
    with open(data_dir / LOCK_FILE, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise AlreadyServed(f"Another server (process {holder}) uses the data directory {data_dir}.") from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


class DatabaseHeld:
    """That this process is the only server of its database. On SQLite the data directory's lock says so."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lock = AdvisoryLock(db.url, DATABASE_LOCK) if db.postgresql else None

    async def begin(self) -> None:
        """Raises AlreadyServed; OperationalError, which says why, when the database cannot be reached."""
        if self._lock is None:
            return
        await asyncio.to_thread(self._reach)
        for _ in range(TRIES):
            if await self._lock.take():
                return
            await asyncio.sleep(RETRY_S)
        raise AlreadyServed("Another server uses this database.")

    async def keep(self, worker: int, may_claim: Callable[[bool], None]) -> None:
        """Takes the lock again whenever it is lost, and tells whether it is held; runs until cancelled. `worker` is this process's epoch.

        Raises AlreadyServed when another server has used the database meanwhile."""
        while self._lock is not None:
            await self._lock.lost()
            may_claim(False)
            log.warning("server_lock_lost")
            while not await self._is_held_again(self._lock, worker):
                await asyncio.sleep(RETRY_S)
            log.info("server_lock_held_again")
            may_claim(True)
        await asyncio.get_running_loop().create_future()  # nobody can take a file's lock from a process that lives

    async def _is_held_again(self, lock: AdvisoryLock, worker: int) -> bool:
        try:
            held = lock.held or await lock.take()
            newest = await asyncio.to_thread(self._newest_worker)
        except Unavailable:
            return False
        if newest > worker:
            raise AlreadyServed("Another server uses this database: it took over while this one had no connection to it.")
        return held  # not, and nobody newer: that is our own lost connection, which PostgreSQL has not seen the end of yet

    def _reach(self) -> None:
        with self._db.engine.connect():
            pass

    def _newest_worker(self) -> int:
        with self._db.read() as tx:
            return int(tx.execute(sa.select(sa.func.max(workers.c.epoch))).scalar_one())

    def end(self) -> None:
        if self._lock is not None:
            self._lock.release()
