"""Each rule is broken by what it says, with its default threshold, and by nothing less."""

from collections.abc import Mapping

import pytest
import sqlalchemy as sa

from heliograph import alerts, carriers
from heliograph.alerts import AlertKind
from heliograph.base import clock
from heliograph.base.clock import MINUTE_MS
from heliograph.carriers import LinkState, carrier_states
from heliograph.database.database import Database
from heliograph.monitoring.tables import (
    COUNTS,
    LEVELS,
    TEN_SECONDS_MS,
    service_samples,
)
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.alerted import LOOPBACK, hold, look, open_now
from tests.support.factories import SECRET_KEY, grant, open_carrier
from tests.support.monitored import tell, told


@pytest.fixture(autouse=True)
def _at_once(db: Database) -> None:
    """Lets every rule open and end alerts at the second look."""
    for kind in AlertKind:
        hold(db, kind, 0)


@pytest.fixture
def carrier_id(db: Database) -> int:
    """Returns the id of a carrier that is bound."""
    made = open_carrier(db, "alpha")
    tell(db, 7)
    with db.write() as tx:
        carrier_states.record(tx, 7, made, LinkState.BOUND, "", clock.now_ms())
    return made


def sample(db: Database, carrier_id: int, step_ms: int, figures: Mapping[str, int]) -> None:
    """Stores a sample of now, in place of those before."""
    row = dict.fromkeys((*COUNTS, *LEVELS), 0) | dict(figures)
    of_step = {"step_ms": step_ms, "covered_ms": step_ms, "carrier_id": carrier_id}
    with db.write() as tx:
        tx.execute(sa.delete(service_samples))
        for step in {TEN_SECONDS_MS, step_ms}:
            tx.execute(
                service_samples.insert().values(
                    **row | of_step | {"step_ms": step, "at_ms": clock.now_ms() // step * step}
                )
            )


def found(db: Database) -> list[str]:
    """Returns what is open after enough looks."""
    for _ in range(3):
        look(db)
    return open_now(db)


def test_a_message_that_waits_for_more_than_five_minutes(db: Database, carrier_id: int) -> None:
    for oldest_s, expected in (
        (300, []),
        (301, ["Messages wait too long for carrier alpha"]),
        (0, []),
    ):
        levels = {"waiting_bulk": 4, "oldest_bulk_s": oldest_s}
        sample(db, carrier_id, TEN_SECONDS_MS, levels)
        assert found(db) == expected


def test_what_to_do_about_a_backlog_is_told_by_its_cause_while_it_lasts(
    db: Database, carrier_id: int
) -> None:
    def told() -> str:
        found(db)
        with db.read() as tx:
            [alert] = alerts.open_alerts(tx, limit=10)
        return alert.remedy

    waits = {"waiting_bulk": 4, "oldest_bulk_s": 400}
    sample(db, carrier_id, TEN_SECONDS_MS, waits)
    with db.write() as tx:
        carriers.pause_carrier(tx, "alpha")
    assert told() == (
        "Resume it (heliograph carrier resume alpha), or give its route another carrier (heliograph"
        " route set)."
    )
    with db.write() as tx:
        carriers.resume_carrier(tx, "alpha")
    assert told().startswith("Raise its rate or window")


def test_samples_that_are_old_open_nothing_and_end_nothing(db: Database, carrier_id: int) -> None:
    waits = {"waiting_ahead": 4, "oldest_ahead_s": 900}
    sample(db, carrier_id, TEN_SECONDS_MS, waits)
    clock.move(by_ms=120_000)
    assert found(db) == []
    sample(db, carrier_id, TEN_SECONDS_MS, waits)
    assert len(found(db)) == 1
    with db.write() as tx:
        tx.execute(sa.delete(service_samples))
    assert len(found(db)) == 1


def test_a_carrier_that_delivers_less_than_60_of_100(db: Database, carrier_id: int) -> None:
    for delivered, undelivered, expected in (
        (60, 40, []),
        (59, 41, ["Carrier alpha delivers too few messages"]),
        (0, 99, []),  # of too few receipts
    ):
        figures = {"delivered": delivered, "undelivered": undelivered}
        sample(db, carrier_id, MINUTE_MS, figures)
        assert found(db) == expected


def test_a_carrier_that_drains_is_not_missed(db: Database, carrier_id: int) -> None:
    with db.write() as tx:
        carrier_states.record(tx, 7, carrier_id, LinkState.BACKING_OFF, "", clock.now_ms())
        carriers.drain_carrier(tx, "alpha", draining=True)
    assert found(db) == []
    with db.write() as tx:
        carriers.drain_carrier(tx, "alpha", draining=False)
    assert found(db) == ["Carrier alpha is down"]


def test_a_watched_wallet_and_no_other_one(db: Database, amina_id: str) -> None:
    assert found(db) == []
    with db.write() as tx:
        alerts.watch_wallet(tx, "amina", 100)
    grant(db, amina_id, 99)
    assert found(db) == ["The wallet of amina is low"]
    grant(db, amina_id, 1)
    assert found(db) == []


def test_a_disk_with_less_than_two_gibibytes(db: Database) -> None:
    tell(db, 7, figures=told(disk_free_octets=2 << 30))
    assert found(db) == []
    tell(db, 8, figures=told(disk_free_octets=(2 << 30) - 1))
    assert found(db) == ["The disk of pump is nearly full"]


def test_an_endpoint_that_fails_for_an_hour(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        endpoint, _ = endpoints.add(
            tx,
            amina_id,
            "http://127.0.0.1:9/hook",
            ["all"],
            sandbox=False,
            include_customers=False,
            secret_key=SECRET_KEY,
            allow=LOOPBACK,
            now_ms=clock.now_ms(),
        )
        tx.execute(sa.update(webhook_endpoints).values(failing_since_ms=clock.now_ms()))
    clock.move(by_ms=3_599_000)
    assert found(db) == []
    clock.move(by_ms=1_000)
    assert found(db) == ["A webhook endpoint of amina fails"]
    with db.write() as tx:
        endpoints.disable(tx, endpoints.text_id(endpoint.id), now_ms=clock.now_ms())
    assert found(db) == []  # whoever disables one knows of it
