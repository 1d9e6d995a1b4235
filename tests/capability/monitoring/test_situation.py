"""A sentence says what is wrong, and what to do about it."""

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import LinkState, carrier_states, pause_carrier, resume_carrier, routing
from heliograph.carriers.tables import carriers
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.messages.tables import inflight
from heliograph.monitoring import CheckResult, MeasuredQueue, Sampler, situation
from heliograph.monitoring.process_figures import CarrierCounts
from tests.support.factories import open_carrier
from tests.support.monitored import bound, tell, told


@pytest.fixture
def carrier_id(db: Database) -> int:
    """Returns the id of a carrier that is bound, of a service that is well."""
    made = open_carrier(db, "alpha")
    tell(db, 7)
    bound(db, made)
    return made


def sentences(db: Database) -> list[str]:
    with db.read() as tx:
        return [trouble.sentence for trouble in situation(tx, clock.now_ms()).troubles]


def remedies(db: Database) -> str:
    with db.read() as tx:
        return "\n".join(trouble.remedy for trouble in situation(tx, clock.now_ms()).troubles)


def take(db: Database, sampler: Sampler, carrier_id: int, measured: MeasuredQueue) -> None:
    with db.write() as tx:
        sampler.take(tx, {carrier_id: measured}, clock.now_ms())


def test_of_a_service_that_is_well_nothing_is_said(db: Database, carrier_id: int) -> None:
    assert sentences(db) == []


def test_what_processes_find_around_them_is_said_once(db: Database, carrier_id: int) -> None:
    fsync = CheckResult("fsync", "failure", "off: what was accepted is lost", "turn it on")
    files = CheckResult("files", "warning", "others may read secret.key", "make it private")
    tell(db, 7, figures=told(found=[fsync, files]))
    tell(db, 8, figures=told(found=[fsync], host="sea"))
    assert sentences(db) == [
        "Fsync: off: what was accepted is lost.",
        "Files: others may read secret.key (on pump).",
    ]
    assert remedies(db) == "Turn it on.\nMake it private."
    tell(db, 7)
    tell(db, 8)
    assert sentences(db) == []


def test_a_carrier_that_is_down_is_named_with_what_to_do_until_it_is_back(
    db: Database, carrier_id: int
) -> None:
    bound(db, carrier_id, LinkState.BACKING_OFF, "Connection refused")
    clock.move(by_ms=4_000)
    assert sentences(db) == [
        "Carrier alpha has had no bound session for 4 s: the connection failed or ended, and is"
        " tried again (Connection refused)."
    ]
    assert "heliograph carrier test alpha" in remedies(db)
    assert "a server running" not in remedies(db), "one is: it tries again"
    bound(db, carrier_id)
    assert sentences(db) == []


def test_a_service_without_processes_says_that_nothing_sends(db: Database) -> None:
    assert "Processes: none: nothing sends." in sentences(db)


def test_a_carrier_whose_processes_are_gone_is_not_bound(db: Database, carrier_id: int) -> None:
    with db.write() as tx:
        tx.execute(sa.delete(workers))  # as a console retires a process that died
    assert "Carrier alpha has no bound session: no process serves it." in sentences(db)
    assert "is a server running?" in remedies(db).lower()


def test_a_process_that_is_silent_is_named_before_others_take_over(
    db: Database, carrier_id: int
) -> None:
    clock.move(by_ms=18_000)
    assert sentences(db) == ["The worker 7 (process 4711 on pump) has not shown itself for 18 s."]


def test_a_full_disk_and_a_redis_that_is_away_are_told(db: Database) -> None:
    open_carrier(db, "alpha")
    tell(db, 7, figures=told(disk_free_octets=1 << 29, redis=False))
    found = "\n".join(sentences(db))
    assert "0.5 GiB are free for the data directory of the worker 7" in found
    assert "Redis does not answer the worker 7" in found


def test_a_backlog_that_grows_is_told_and_one_that_shrinks_is_not(
    db: Database, carrier_id: int
) -> None:
    sampler, many = Sampler(), "5\N{NARROW NO-BREAK SPACE}000"
    take(db, sampler, carrier_id, MeasuredQueue())
    clock.move(by_ms=10_000)
    take(db, sampler, carrier_id, MeasuredQueue(waiting_bulk=5_000, oldest_bulk_s=400.0))
    tell(db, 7)
    bound(db, carrier_id)
    assert sentences(db) == [
        f"{many} texts wait for carrier alpha; the oldest has waited for 6 min."
    ], "nobody knows how many waited 5 minutes ago"
    for number in range(30):
        clock.move(by_ms=10_000)
        tell(db, 7, alpha=CarrierCounts(number, {"accepted": number}, {}, 0))
        take(db, sampler, carrier_id, MeasuredQueue(waiting_bulk=4_000, oldest_bulk_s=700.0))
    tell(db, 7)
    bound(db, carrier_id)
    assert sentences(db) == []


def test_receipts_that_match_nothing_and_doubts_are_told(db: Database, carrier_id: int) -> None:
    sampler = Sampler()
    take(db, sampler, carrier_id, MeasuredQueue())
    clock.move(by_ms=10_000)
    take(db, sampler, carrier_id, MeasuredQueue(unmatched=450))
    with db.write() as tx:
        tx.execute(
            inflight.insert().values(
                message_id="0" * 32,
                part=1,
                parts=1,
                carrier_id=carrier_id,
                worker=0,
                attempt=1,
                state="in_doubt",
                prefix="",
                expires_at_ms=0,
                since_ms=clock.now_ms() - 300_000,
            )
        )
    found = "\n".join(sentences(db))
    assert "450 receipts of carrier alpha match no message." in found
    assert "In doubt: 1 message, the oldest for 5 min" in found
    assert "heliograph message list --in-doubt" in remedies(db)


def test_routes_that_lead_to_the_simulator_are_told_after_what_failed(
    db: Database, carrier_id: int
) -> None:
    with db.write() as tx:
        routing.set_route(tx, "44", ["simulator"])
    bound(db, carrier_id, LinkState.REFUSED, "command_status 0x0000000E")
    [first, second] = sentences(db)
    assert first.startswith("Carrier alpha has had no bound session")
    assert second.startswith("Route 44: simulator: live texts there are charged")


def test_figures_that_are_old_are_told(db: Database, carrier_id: int) -> None:
    sampler = Sampler()
    take(db, sampler, carrier_id, MeasuredQueue())
    clock.move(by_ms=10_000)
    take(db, sampler, carrier_id, MeasuredQueue())
    clock.move(by_ms=70_000)
    tell(db, 7)
    bound(db, carrier_id)
    assert any("The figures below are 7" in sentence for sentence in sentences(db))


def test_carriers_are_shown_with_their_last_rates_and_their_hour(
    db: Database, carrier_id: int
) -> None:
    sampler = Sampler()
    take(db, sampler, carrier_id, MeasuredQueue())
    for number in range(1, 14):
        clock.move(by_ms=10_000)
        counted = {"accepted": 50 * number, "refused": number}
        tell(db, 7, alpha=CarrierCounts(50 * number, counted, {}, 9))
        take(db, sampler, carrier_id, MeasuredQueue(waiting_bulk=number))
    with db.read() as tx:
        [now] = [
            each for each in situation(tx, clock.now_ms()).carriers if each.carrier.name == "alpha"
        ]
    assert (round(now.rates["handed_over"], 1), now.levels["window_in_use"]) == (5.0, 9)
    assert now.levels["waiting_bulk"] == 13
    assert now.hour["refused"] >= 6


def test_a_carrier_that_some_processes_are_not_bound_to_is_told(
    db: Database, carrier_id: int
) -> None:
    tell(db, 8)
    with db.write() as tx:
        carrier_states.record(tx, 8, carrier_id, LinkState.REFUSED, "0x05", clock.now_ms())
        assert tx.execute(sa.select(carriers.c.state).where(carriers.c.id == carrier_id)).one()
    assert any("bound in 1 of 2 processes" in sentence for sentence in sentences(db))


def test_a_paused_carrier_is_named_until_it_is_resumed(db: Database, carrier_id: int) -> None:
    with db.write() as tx:
        pause_carrier(tx, "alpha")
    assert sentences(db) == [
        "Carrier alpha is paused: nothing is handed over to it.",
        "Route default: alpha: texts wait, because all of them are paused or drain.",
    ]
    assert "heliograph carrier resume alpha" in remedies(db)
    with db.write() as tx:
        resume_carrier(tx, "alpha")
    assert sentences(db) == []


def test_a_database_whose_connections_run_out_is_told(
    db: Database, carrier_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.read() as tx:
        found = situation(tx, clock.now_ms()).database
    assert found.octets > 50_000
    assert found.kind.startswith("PostgreSQL " if db.postgresql else "SQLite ")
    assert (found.connections is not None) is db.postgresql
    monkeypatch.setitem(situation.__globals__, "CONNECTIONS_PART", 0.001)
    told_of = [each for each in sentences(db) if "connections that the database allows" in each]
    assert len(told_of) == db.postgresql
