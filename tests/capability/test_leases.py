"""Processes show each other that they live; who does not is retired."""

import pytest

from heliograph.base import clock
from heliograph.base.db import Database
from heliograph.base.leases import Lease, Retired


def begun(db: Database, kind: str = "api") -> Lease:
    lease = Lease(db, kind)
    lease.begin()
    return lease


def looks_for(lease: Lease, seconds: int) -> None:
    """Every second."""
    for _ in range(seconds):
        clock.move(by_ms=1_000)
        lease.look()


def test_who_shows_himself_is_left_alone(db: Database) -> None:
    first, second = begun(db), begun(db)
    for _ in range(60):
        clock.move(by_ms=1_000)
        first.look()
        second.look()
    assert (first.count("api"), second.count("api"), first.count("worker")) == (2, 2, 0)


def test_who_stands_still_for_30_s_is_retired_and_learns_it(db: Database) -> None:
    dead, living = begun(db), begun(db)
    looks_for(living, 29)
    assert living.count("api") == 2
    looks_for(living, 2)
    assert living.count("api") == 1
    with pytest.raises(Retired):
        dead.look()
    dead.begin()
    dead.look()
    assert dead.count("api") == 2


def test_who_has_not_looked_for_long_retires_nobody_by_what_he_saw_before(db: Database) -> None:
    stopped, living = begun(db), begun(db)
    looks_for(living, 20)
    clock.move(by_ms=90_000)  # the whole machine was asleep: neither has shown himself
    stopped.look()
    living.look()
    clock.move(by_ms=1_000)
    stopped.look()
    living.look()
    assert (stopped.count("api"), living.count("api")) == (2, 2)


def test_who_stood_still_for_20_s_writes_nothing_more_long_before_others_take_over(db: Database) -> None:
    stopped, living = begun(db, "worker"), begun(db, "worker")
    for _ in range(12):  # beats after 5 and 10 s
        looks_for(stopped, 1)
        living.look()
    for seconds in range(3, 40):
        clock.move(by_ms=1_000)
        living.look()
        assert living.may_write()
        assert living.count("worker") == (2 if seconds < 30 else 1), seconds
        assert stopped.may_write() == (seconds < 20 or not db.postgresql), seconds  # a SQLite file has no others


def test_who_stands_in_for_others_retires_them_at_once(db: Database) -> None:
    api, server = begun(db), begun(db, "serve")
    worker = Lease(db, "worker")
    worker.begin(("serve", "worker"))
    api.look()
    assert [api.count(kind) for kind in ("api", "serve", "worker")] == [1, 0, 1]
    with pytest.raises(Retired):
        server.look()


def test_an_epoch_is_never_given_twice(db: Database) -> None:
    seen = set()
    for _ in range(5):
        lease = begun(db)
        seen.add(lease.epoch)
        lease.end()
    assert len(seen) == 5
