"""A carrier has one state when several processes serve it, and when one of them is gone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import (
    LinkState,
    all_carriers,
    carrier_states,
    down_carriers,
    drain_carrier,
)
from heliograph.carriers.manage import DOWN_MS
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.database.leases import workers
from tests.support.capability.waiting import until_it_waits
from tests.support.factories import open_carrier

BOUND, REFUSED, BACKING_OFF, CONNECTING, CLOSED = (
    LinkState.BOUND,
    LinkState.REFUSED,
    LinkState.BACKING_OFF,
    LinkState.CONNECTING,
    LinkState.CLOSED,
)


@pytest.fixture
def carrier_id(db: Database) -> int:
    with db.write() as tx:
        for process_number in (1, 2, 3):
            tx.execute(
                workers.insert().values(
                    epoch=process_number, kind="carrier", started_at_ms=clock.now_ms()
                )
            )
    return open_carrier(db)


def recorded(db: Database, carrier_id: int, *states: tuple[int, LinkState, str]) -> tuple[str, str]:
    """Returns what the carrier shows after these states, in order."""
    with db.write() as tx:
        for process_number, state, detail in states:
            carrier_states.record(tx, process_number, carrier_id, state, detail, clock.now_ms())
        assert carrier_states.outdated(tx).get(carrier_id) is None
    return shown(db, carrier_id)


def shown(db: Database, carrier_id: int) -> tuple[str, str]:
    with db.read() as tx:
        carrier = next(carrier for carrier in all_carriers(tx) if carrier.id == carrier_id)
        return carrier.state, carrier.state_detail


def test_the_carrier_is_what_its_best_link_is(db: Database, carrier_id: int) -> None:
    assert recorded(db, carrier_id, (1, BOUND, "2 of 2 binds")) == ("bound", "2 of 2 binds")
    assert recorded(db, carrier_id, (2, REFUSED, "already bound")) == (
        "bound",
        "in 1 of 2 processes: 2 of 2 binds",
    )
    assert recorded(db, carrier_id, (3, BOUND, "1 of 2 binds")) == (
        "bound",
        "in 2 of 3 processes: 2 of 2 binds",
    )
    assert recorded(db, carrier_id, (1, CLOSED, ""), (3, BACKING_OFF, "timed out")) == (
        "refused",
        "in 1 of 2 processes: already bound",
    )
    assert recorded(db, carrier_id, (2, CONNECTING, "")) == (
        "backing_off",
        "in 1 of 2 processes: timed out",
    )
    assert recorded(db, carrier_id, (2, CLOSED, ""), (3, CLOSED, "")) == ("closed", "")


def test_it_is_down_only_while_none_is_bound(db: Database, carrier_id: int) -> None:
    recorded(db, carrier_id, (1, BOUND, ""), (2, BACKING_OFF, "timed out"))
    clock.move(by_ms=DOWN_MS)
    with db.read() as tx:
        assert carrier_id not in down_carriers(tx, clock.now_ms())
    recorded(db, carrier_id, (1, BACKING_OFF, "timed out"))
    clock.move(by_ms=DOWN_MS)
    with db.read() as tx:
        assert carrier_id in down_carriers(tx, clock.now_ms())


def test_a_process_that_is_retired_takes_its_link_with_it(db: Database, carrier_id: int) -> None:
    recorded(db, carrier_id, (1, BOUND, "1 of 1 binds"))
    with db.write() as tx:
        tx.execute(sa.delete(workers).where(workers.c.epoch == 1))
        assert carrier_states.outdated(tx)[carrier_id] == ("closed", "")
        carrier_states.repair(tx, clock.now_ms())
    assert shown(db, carrier_id) == ("closed", "")
    clock.move(by_ms=DOWN_MS)
    with db.read() as tx:
        assert carrier_id in down_carriers(tx, clock.now_ms())


def test_of_two_processes_that_lose_their_links_at_once_none_calls_the_carrier_bound(
    db: Database, carrier_id: int
) -> None:
    recorded(db, carrier_id, (1, BOUND, ""), (2, BOUND, ""))
    lost_ms = clock.now_ms()

    def lose(process_number: int) -> None:
        with db.write() as tx:
            carrier_states.record(
                tx, process_number, carrier_id, BACKING_OFF, "timed out", clock.now_ms()
            )

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            carrier_states.record(tx, 1, carrier_id, BACKING_OFF, "timed out", clock.now_ms())
            beside = thread.submit(lose, 2)
            until_it_waits(db, beside)
        beside.result()
    assert shown(db, carrier_id) == ("backing_off", "in 2 of 2 processes: timed out")
    since_ms = down_since(db, carrier_id)
    assert since_ms is not None
    assert since_ms >= lost_ms


def test_a_state_that_is_mended_while_a_process_records_another_one_is_the_later(
    db: Database, carrier_id: int
) -> None:
    recorded(db, carrier_id, (1, BOUND, ""))
    with db.write() as tx:
        tx.execute(sa.delete(workers).where(workers.c.epoch == 1))

    def mend() -> None:
        with db.write() as tx:
            carrier_states.repair(tx, clock.now_ms())

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            carrier_states.record(tx, 2, carrier_id, BOUND, "1 of 1 binds", clock.now_ms())
            beside = thread.submit(mend)
            until_it_waits(db, beside)
        beside.result()
    assert shown(db, carrier_id) == ("bound", "1 of 1 binds")
    assert down_since(db, carrier_id) is None


def test_a_carrier_may_come_back_while_an_operator_lets_it_drain(
    db: Database, carrier_id: int
) -> None:
    recorded(db, carrier_id, (1, BACKING_OFF, "timed out"))
    clock.move(by_ms=DOWN_MS)

    def come_back() -> None:
        with db.write() as tx:
            carrier_states.record(tx, 1, carrier_id, BOUND, "", clock.now_ms())

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            config.bump(tx)  # as every change of a carrier begins
            beside = thread.submit(come_back)
            until_it_waits(db, beside)
            name = next(each.name for each in all_carriers(tx) if each.id == carrier_id)
            drain_carrier(tx, name)
        beside.result()
    assert shown(db, carrier_id) == ("bound", "")


def down_since(db: Database, carrier_id: int) -> int | None:
    with db.read() as tx:
        return next(each.down_since_ms for each in all_carriers(tx) if each.id == carrier_id)
