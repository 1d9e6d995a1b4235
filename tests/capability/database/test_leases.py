"""Processes show each other that they live; who does not is retired."""

import asyncio

import psycopg
import pytest

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.database.database import Database
from heliograph.database.leases import LOOK_S, Lease, LeaseLost, workers
from heliograph.processes import api_processes
from heliograph.processes.roles import senders
from tests.support.capability.sending import LossyDatabase
from tests.support.factories import awaited


def begun(db: Database, kind: str = "api") -> Lease:
    lease = Lease(db, kind)
    lease.begin()
    return lease


def looks_for(lease: Lease, seconds: int) -> None:
    """Looks every second."""
    for _ in range(seconds):
        clock.move(by_ms=1_000)
        lease.refresh()


def test_who_shows_himself_is_left_alone(db: Database) -> None:
    first, second = begun(db), begun(db)
    for _ in range(60):
        clock.move(by_ms=1_000)
        first.refresh()
        second.refresh()
    assert (first.count("api"), second.count("api"), first.count("worker")) == (2, 2, 0)


def test_who_stands_still_for_30_s_is_retired_and_learns_it(db: Database) -> None:
    dead, living = begun(db), begun(db)
    looks_for(living, 29)
    assert living.count("api") == 2
    looks_for(living, 2)
    assert living.count("api") == 1
    with pytest.raises(LeaseLost):
        dead.refresh()
    dead.begin()
    dead.refresh()
    assert dead.count("api") == 2


def test_a_server_on_sqlite_shows_nothing_and_is_not_retired_by_a_command_beside_it(
    db: Database,
) -> None:
    server, command, killed = begun(db, "serve"), begun(db, "listen"), begun(db, "listen")
    looks_for(command, 60)
    assert (command.count("serve"), command.count("listen")) == (0 if db.postgresql else 1, 1)
    with pytest.raises(LeaseLost):
        (server if db.postgresql else killed).refresh()


def test_who_has_not_looked_for_long_retires_nobody_by_what_he_saw_before(db: Database) -> None:
    stopped, living = begun(db), begun(db)
    looks_for(living, 20)
    clock.move(by_ms=90_000)  # the whole machine was asleep: neither has shown himself
    stopped.refresh()
    living.refresh()
    clock.move(by_ms=1_000)
    stopped.refresh()
    living.refresh()
    assert (stopped.count("api"), living.count("api")) == (2, 2)


def test_who_stood_still_for_20_s_writes_nothing_more_long_before_others_take_over(
    db: Database,
) -> None:
    stopped, living = begun(db, "worker"), begun(db, "worker")
    for _ in range(12):  # beats after 5 and 10 s
        looks_for(stopped, 1)
        living.refresh()
    for seconds in range(3, 40):
        clock.move(by_ms=1_000)
        living.refresh()
        assert living.may_write()
        assert living.count("worker") == (2 if seconds < 30 else 1), seconds
        # a SQLite file has no others
        assert stopped.may_write() == (seconds < 20 or not db.postgresql), seconds


def test_who_stands_in_for_others_retires_them_at_once(db: Database) -> None:
    api, server = begun(db), begun(db, "serve")
    worker = Lease(db, "worker")
    worker.begin(("serve", "worker"))
    api.refresh()
    assert [api.count(kind) for kind in ("api", "serve", "worker")] == [1, 0, 1]
    with pytest.raises(LeaseLost):
        server.refresh()


def test_who_waives_its_part_of_a_rate_has_none_unless_all_do(db: Database) -> None:
    first, second = begun(db, "worker"), begun(db, "worker")
    for waived_by_first, waived_by_second, having in [
        ({7}, set(), [second]),
        ({7}, {7, 8}, [first, second]),
        (set(), {7}, [first]),
        ({8}, set(), [first, second]),
    ]:
        first.waived, second.waived = frozenset(waived_by_first), frozenset(waived_by_second)
        first.refresh()
        second.refresh()
        first.refresh()
        assert (
            senders(first.peers, 7)
            == senders(second.peers, 7)
            == sorted(lease.number for lease in having)
        )
    first.waived = frozenset({7})
    first.refresh()
    first.begin()  # as a new process: it has not looked for the carrier yet
    assert first.peers[first.number].waived == frozenset()


def test_what_began_under_a_former_epoch_has_no_permission_any_more(postgresql_url: str) -> None:
    """It does not matter how long it lives: it neither binds nor writes once its process has learnt
    that it is retired, or has begun anew.
    """
    db = Database(postgresql_url)
    lease = begun(db, "worker")
    former = lease.permit()
    assert former()
    with db.write() as tx:
        tx.execute(workers.delete())
    with pytest.raises(LeaseLost):
        lease.refresh()
    assert not former()
    assert not lease.may_write()
    lease.begin()
    assert (lease.may_write(), lease.permit()(), former()) == (True, True, False)
    db.close()


def test_an_epoch_is_never_given_twice(db: Database) -> None:
    seen = set()
    for _ in range(5):
        lease = begun(db)
        seen.add(lease.number)
        lease.end()
    assert len(seen) == 5


def test_a_registration_that_failed_leaves_no_row_behind(database_url: str) -> None:
    """It would be taken for another process, which shares this one's carriers."""
    db = LossyDatabase(database_url)
    lease = begun(db, "worker")
    for lost in (1, 2):
        db.writes_lost = lost
        for _ in range(lost):
            with pytest.raises(Unavailable):
                lease.begin()
        lease.begin()
        assert sorted(lease.peers) == [lease.number]
    db.close()


@awaited
async def test_an_api_process_shows_itself_again_whatever_it_met(postgresql_url: str) -> None:
    """It was retired, and the table of the processes is locked for longer than a statement
    waits.
    """
    db = Database(postgresql_url)
    lease = begun(db)
    with psycopg.connect(postgresql_url) as other:
        other.execute("DELETE FROM workers")
        other.commit()
        other.execute("LOCK TABLE workers IN SHARE MODE")
        keeping = asyncio.create_task(api_processes.keep(lease))
        await asyncio.sleep(3 * LOOK_S)
        other.rollback()
        async with asyncio.timeout(10):
            while not (rows := other.execute("SELECT epoch FROM workers").fetchall()):
                await asyncio.sleep(0.1)
                other.rollback()
    assert (keeping.done(), rows) == (False, [(lease.number,)])
    keeping.cancel()
    db.close()
