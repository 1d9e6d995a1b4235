"""What a carrier's state is when several processes serve it, and when one of them is gone."""

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import (
    LinkState,
    all_carriers,
    down_carriers,
    mend_states,
    outdated_states,
    record_state,
)
from heliograph.carriers.manage import DOWN_MS
from heliograph.database.database import Database
from heliograph.database.leases import workers
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
        for epoch in (1, 2, 3):
            tx.execute(
                workers.insert().values(epoch=epoch, kind="carrier", started_at_ms=clock.now_ms())
            )
    return open_carrier(db)


def recorded(db: Database, carrier_id: int, *states: tuple[int, LinkState, str]) -> tuple[str, str]:
    """What the carrier shows after these, in order."""
    with db.write() as tx:
        for epoch, state, detail in states:
            record_state(tx, epoch, carrier_id, state, detail, clock.now_ms())
        assert outdated_states(tx).get(carrier_id) is None
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
        assert outdated_states(tx)[carrier_id] == ("closed", "")
        mend_states(tx, clock.now_ms())
    assert shown(db, carrier_id) == ("closed", "")
    clock.move(by_ms=DOWN_MS)
    with db.read() as tx:
        assert carrier_id in down_carriers(tx, clock.now_ms())
