"""There is one server per data directory and per database. Locks keep a second one away; this also
says what happens when a lock is lost.

The lock of the data directory is a lock of a file, which a process keeps for as long as it lives.
The lock of a PostgreSQL database, which other machines reach too, is an advisory lock: a server has
it to itself, and the processes that send side by side share it. It ends with its connection; then
nothing is claimed until it is held again (docs/decisions/processes.md, O1).
"""

import asyncio
import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from heliograph.base import private_files
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log
from heliograph.base.settings import SettingError
from heliograph.database import restored_copy, schema
from heliograph.database.database import Database
from heliograph.database.leases import SERVE, workers
from heliograph.processes.kept_lock import RETRY_S, TRIES, KeptLock

# objects made, and collections of the younger generation: Python's 700 fits smaller programs
COLLECT_AFTER: Final = (10_000, 20, 50)
LOCK_FILE: Final = "serve.lock"
DATABASE_LOCK: Final = 0x48454C53
# who begins has the lock to itself for a moment, and for 5 s if it is stopped then (advisory.alone)
TRIES_WHILE_OTHERS_BEGIN: Final = 150

log = Log(__name__)


class AlreadyServed(Exception):
    """Another server holds this data directory or database."""


@contextmanager
def lock_data_dir(data_dir: Path) -> Iterator[None]:
    """Holds the data directory. Raises AlreadyServed."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(data_dir / LOCK_FILE, "a+", opener=private_files.opener) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise AlreadyServed(
                f"Another server (process {holder}) uses the data directory {data_dir}."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


class DatabaseLock(KeptLock):
    """Makes sure that a server is the only process that sends from its database, or that the
    processes that share it have no server among them. On SQLite the data directory's lock does
    that.
    """

    def __init__(self, db: Database, *, shared: bool) -> None:
        super().__init__(db, DATABASE_LOCK, shared=shared)
        self._db = db
        self._shared = shared

    async def take(self) -> bool:
        """Answers whether nobody else sends from this database; if so, nobody can until
        `admit_others`.

        Raises AlreadyServed; OperationalError, which says why, when the database cannot be reached;
        Unavailable when it went away meanwhile, or when another process is long about beginning.
        """
        if self._lock is None:
            return True
        await asyncio.to_thread(self._reach)
        for number in range(1, TRIES_WHILE_OTHERS_BEGIN + 1):
            if await self._is_taken():
                return not self._shared or await self._lock.become_exclusive()
            if number >= TRIES and not self._shared:
                raise AlreadyServed("Another server or worker uses this database.")
            if number % TRIES == 0 and await asyncio.to_thread(self._has_server):
                raise AlreadyServed("A server (heliograph serve) has this database to itself.")
            await asyncio.sleep(RETRY_S)
        raise Unavailable("Another process is starting, and still keeps the database to itself.")

    async def admit_others(self) -> None:
        """Lets in the processes that share the database. Raises Unavailable."""
        if self._lock is not None and self._shared:
            await self._lock.share_again()

    async def keep(self, may_claim: Callable[[bool], None]) -> None:
        """Takes the lock again whenever it is lost, and tells whether it is taken. It runs until it
        is cancelled. If another process has the lock meanwhile, our lease will tell.
        """

        def tell(is_taken: bool) -> None:
            may_claim(is_taken)
            if is_taken:
                log.info("server_lock_held_again")
            else:
                log.warning("server_lock_lost")

        await self._keep(self._is_taken, tell)

    def _has_server(self) -> bool:
        with self._db.read() as tx:
            return (
                tx.execute(
                    sa.select(workers.c.epoch).where(workers.c.kind == SERVE).limit(1)
                ).first()
                is not None
            )

    def _reach(self) -> None:
        with self._db.engine.connect():
            pass


def require_schema(db: Database) -> None:
    """Raises SettingError when the database is not this version's."""
    with db.read() as tx:
        if not schema.is_current(tx):
            raise SettingError(
                "DATABASE_URL",
                "a database without this version's schema",
                "one that `heliograph migrate` has brought up to date",
            )


def refuse_restored_copy(db: Database, data_dir: Path, *, anew: bool = False) -> None:
    """Makes sure that a copy which was restored neither sends what has left already nor accepts
    more. `anew` says whether the process has run before. Raises SettingError, Unavailable.
    """
    if restored_copy.is_served_elsewhere(db, data_dir, anew=anew):
        raise SettingError(
            "DATABASE_URL",
            "a copy of a database that was last served elsewhere; the copy does not know what was"
            " sent since then",
            "a copy that `heliograph restore-check --since T` has checked; T is the time when the"
            " copy was taken",
        )


def begin_serving_here(db: Database, data_dir: Path, *, anew: bool = False) -> None:
    """Does what `refuse_restored_copy` does, and marks the database as served here. It raises the
    same errors.
    """
    refuse_restored_copy(db, data_dir, anew=anew)
    restored_copy.mark_as_served_here(db, data_dir)


def tune_collector() -> None:
    """Keeps the garbage collector from looking, again and again, through what was made at the
    start.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
