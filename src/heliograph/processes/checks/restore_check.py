"""`heliograph restore-check` keeps what a restored copy of the database has queued, until an
operator decides.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from heliograph.base import clock, ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import Conflict
from heliograph.base.paging import first_id_of
from heliograph.base.settings import Settings
from heliograph.base.short_texts import invalid_field
from heliograph.campaigns.restored import Stopped, stop_all
from heliograph.database import restored_copy
from heliograph.database.database import Database
from heliograph.database.postgresql.advisory_lock import AdvisoryLock
from heliograph.database.processes import other_processes
from heliograph.messages.sweeps import restored
from heliograph.processes.exclusive import DATABASE_LOCK, AlreadyServed, lock_data_dir
from heliograph.processes.shared_limits import API_LOCK


class ProcessesRun(Conflict):
    """Processes use this database."""


class Done(NamedTuple):
    """Reports what was kept in the end, and which campaigns were stopped."""

    kept_messages: list[restored.KeptMessages]
    campaigns: list[Stopped]


async def keep_from_carriers(
    db: Database, settings: Settings, since_ms: int, *, leave_later: bool
) -> Done:
    """Keeps all that was accepted until `since_ms` and has not left, as far as the database knows;
    may be repeated.

    Raises ProcessesRun, InvalidRequest when something was accepted later and it is not said
    (`leave_later`) that this was after the restore, Unavailable.
    """
    until = first_id_of(since_ms + 1)
    async with exclude_other_processes(db, settings):
        await asyncio.to_thread(_require_all_before, db, since_ms, until, leave_later=leave_later)
        while await restored.keep_some(db, until, clock.now_ms()):
            pass
        campaigns = await asyncio.to_thread(db.transact, lambda tx: stop_all(tx, clock.now_ms()))
        await asyncio.to_thread(
            restored_copy.mark_as_served_here,
            db,
            settings.data_dir,
            checked_s=clock.now_ms() // 1_000,
        )
        with db.read() as tx:
            return Done(restored.kept_messages(tx), campaigns)


def _require_all_before(db: Database, since_ms: int, until: str, *, leave_later: bool) -> None:
    with db.read() as tx:
        newest = restored.newest_queued(tx)
    if newest is not None and newest >= until and not leave_later:
        at_ms = ids.made_at_ms(int(newest, 16))
        raise invalid_field(
            "since",
            f"must be {rfc3339(at_ms + 1)} or later if no process has run since the restore: the"
            " copy holds a message of that time. If processes have run, give --leave-later: what"
            f" was accepted after {rfc3339(since_ms)} is then left alone",
        )


@asynccontextmanager
async def exclude_other_processes(db: Database, settings: Settings) -> AsyncIterator[None]:
    """Keeps every process from beginning that accepts or sends, for as long as this lasts.
    Raises ProcessesRun.
    """
    if db.hosts is None:
        try:
            with lock_data_dir(settings.data_dir):
                yield
        except AlreadyServed as error:
            raise ProcessesRun(f"{error} Stop it first.") from error
        return
    locks = [AdvisoryLock(db.hosts, number) for number in (DATABASE_LOCK, API_LOCK)]
    try:
        for lock in locks:
            if not await lock.take():
                raise ProcessesRun(
                    f"Processes use this database: {await asyncio.to_thread(_named, db)}. Stop them"
                    " first."
                )
        yield
    finally:
        for lock in locks:
            lock.release()


def _named(db: Database) -> str:
    with db.read() as tx:
        found = [str(process) for process in other_processes(tx) if process.kind is not None]
    return ", ".join(found) or "this role may not see which"


async def decide(db: Database, which: restored.Selection, *, send: bool) -> int:
    """Lets the selected messages go, or cancels them, beside processes that run, which find them
    within 250 ms.
    Returns how many messages.
    """
    total = 0
    while True:
        some = (
            sum((await restored.release_some(db, which)).values())
            if send
            else await restored.cancel_some(db, which, clock.now_ms())
        )
        if not some:
            return total
        total += some
