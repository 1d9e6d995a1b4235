"""Finds out, by writing, whether the database stores what is written. Load balancers need to know.

A database can answer every question and store nothing: its synchronous standby is lost, its disk is
full, it has become read-only.
"""

import asyncio
import tempfile
from functools import partial
from typing import Final

from heliograph.base import cancelling, clock
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log, error_fields
from heliograph.base.own_threads import OwnThreads
from heliograph.database.database import Database
from heliograph.database.outage import unavailable_on_outage
from heliograph.database.postgresql.answer_time import limit_answer_time
from heliograph.database.sessions import sqlite_path

EVERY_S: Final = 1.0  # at most one check in so long, however many ask
# else nothing can be written, unless other transactions have been committed meanwhile
WITHIN_S: Final = 1.5
# of disk: more than one batch of sends takes, and little beside what a log of PostgreSQL takes (16
# MiB)
ROOM_OCTETS: Final = 262_144

# The first statement is refused where nothing may be written, and writes a record that is committed
# like any other; it changes no row, and waits for no lock. The second one needs more memory than it
# may have, so PostgreSQL writes a temporary file of at least ROOM_OCTETS.
_WRITE: Final = """
    WITH nothing AS (UPDATE config SET epoch = epoch WHERE false)
    SELECT set_config('work_mem', '64kB', true),
        CAST(pg_logical_emit_message(true, 'heliograph', 'written') AS text)"""
_CONFIRM: Final = "SELECT CAST(pg_logical_emit_message(true, 'heliograph', 'written') AS text)"
_FILL: Final = "SELECT count(*) FROM generate_series(1, 20000)"  # 14 octets each
_WRITE_SQLITE: Final = "UPDATE config SET epoch = epoch"

log = Log(__name__)


class Writable:
    """Checks whether the database can be written to. It is used in the event loop, and all who ask
    share the checks.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._threads = OwnThreads("writable")
        self._checking: asyncio.Task[str] | None = None
        self._checked_s = float("-inf")  # monotonic: when the last check was begun
        self._fault = ""  # what the last check found; empty: nothing

    async def check(self) -> None:
        """Raises Unavailable when nothing can be stored, within WITHIN_S."""
        self._db.commits.check()
        if self._checking is None or (
            self._checking.done() and clock.monotonic_s() - self._checked_s >= EVERY_S
        ):
            self._checking, self._checked_s = (
                asyncio.create_task(self._check()),
                clock.monotonic_s(),
            )
        done, _ = await asyncio.wait({self._checking}, timeout=WITHIN_S)
        # else it has its turn later, beside what is stored
        if not done and clock.monotonic_s() - self._db.commits.confirmed_s > WITHIN_S:
            raise Unavailable("The database does not store what is written.")
        for task in done:
            if fault := task.result():
                raise Unavailable(fault)

    async def close(self) -> None:
        """Waits for the check that is under way."""
        await self._threads.close()

    async def _check(self) -> str:
        """Returns why nothing can be written; it is empty when something can."""
        try:
            with unavailable_on_outage():
                await self._threads.run(partial(try_to_write, self._db))
        except Exception as error:  # noqa: BLE001  whatever it was, nothing was written
            cancelling.raise_if_cancelled(error)
            fault = (
                error.message
                if isinstance(error, Unavailable)
                else "The database does not store what is written."
            )
            if not self._fault:
                log.warning(
                    "database_not_writable", reason=fault, **error_fields(error.__cause__ or error)
                )
        else:
            fault = ""
            if self._fault:
                log.info("database_writable_again")
        self._fault = fault
        return fault


def require_confirmed(db: Database) -> None:
    """Makes sure that a commit, which may keep locks, will not wait for a standby that is lost;
    also in a database of PostgreSQL that has no schema yet. Raises Unavailable, Unconfirmed among
    them, after WITHIN_S at the latest.
    """
    with db.write() as tx:
        limit_answer_time(tx, WITHIN_S)
        tx.exec_driver_sql(_CONFIRM)


def try_to_write(db: Database) -> None:
    """Stores something that changes nothing. Raises Unavailable, Unconfirmed among them, after
    WITHIN_S at the latest.
    """
    with unavailable_on_outage():
        (_write if db.postgresql else _write_sqlite)(db)


def _write(db: Database) -> None:
    with db.write() as tx:
        limit_answer_time(tx, WITHIN_S)
        tx.exec_driver_sql(_WRITE)
        tx.exec_driver_sql(_FILL)


def _write_sqlite(db: Database) -> None:
    """Tries a small and a larger write. A small transaction writes over what a log of SQLite holds
    already, a larger one needs more of the disk: so that is tried beside it.
    """
    with tempfile.TemporaryFile(dir=sqlite_path(db.url).parent, buffering=0) as file:
        file.write(bytes(ROOM_OCTETS))
    with db.write() as tx:
        tx.exec_driver_sql(_WRITE_SQLITE)
