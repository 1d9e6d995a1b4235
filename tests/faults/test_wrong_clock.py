"""A machine's clock is wrong, or the clock of a database is (docs/reliability.md, row 40)."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import psycopg
import pytest

from heliograph.base import ids
from heliograph.database import migrate
from heliograph.processes.clock_watch import EVERY_S
from tests.support.crash.processes import ServerProcess
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.validity import ELSEWHERE, HOUR_S, VALIDITY_S, send_valid_for
from tests.support.services.faketime import fake_time
from tests.support.services.postgres import PrivatePostgres

ENDED_WITHIN_S: Final = 60.0
STARTED: Final = (
    ("worker",),
    ("scheduler",),
    ("carrier", "run", "away"),
    ("api", "--workers", "2"),
    ("serve",),
)
# less than what is refused, and far more than what two processes may differ by
LITTLE_S: Final = 1.5
SENDS: Final = 10
LOOKED_WITHIN_S: Final = EVERY_S + 30.0
NewDeployment = Callable[..., Deployment]


def clock_of(seconds: float) -> dict[str, str]:
    """Returns the environment of a process whose machine's clock is wrong by so much."""
    return fake_time(FAKETIME=f"{seconds:+}", FAKETIME_DONT_FAKE_MONOTONIC="1")


def refused(deployment: Deployment, process: ServerProcess, word: str) -> None:
    """Asserts that the process ended by itself, with a line that says how its clock is."""
    assert process.process.wait(ENDED_WITHIN_S) == 1, process.log[-2_000:]
    [line] = [line for line in process.log.splitlines() if line.startswith("heliograph: ")]
    assert (
        f"The clock of this machine is 3600.0 s {word} the database's; it may be 2 s apart at most."
        in line
    ), line


@pytest.mark.fault(40)
def test_a_process_that_starts_an_hour_ahead_is_refused_and_ends_nothing_early(
    new_deployment: NewDeployment,
) -> None:
    deployment = new_deployment("postgresql")
    away = deployment.carrier(name="away", prefix=ELSEWHERE)
    away.proxy.refuse()
    deployment.start((("api",),))
    send_valid_for(deployment, VALIDITY_S)
    moved = [(HOUR_S, "ahead of"), *([(-HOUR_S, "behind")] if LONG else [])]
    for seconds, word in moved:
        started = [
            deployment.run(*command, clock=clock_of(seconds))
            for command in (STARTED if LONG else STARTED[:1])
        ]
        for process in started:
            refused(deployment, process, word)
    deployment.env |= clock_of(LITTLE_S)
    worker = deployment.run("worker")
    worker.wait_for_event("scheduling", ENDED_WITHIN_S)
    assert deployment.count("failed") == 0, "expired early"
    deployment.servers = [server for server in deployment.servers if server.process.poll() is None]
    away.proxy.accept()
    deployment.holds(
        how=(
            f"{len(STARTED) if LONG else 1} kinds of process started"
            f" {' and '.join(f'{seconds:+,} s' for seconds, _ in moved)} from the database's clock:"
            f" each refused with one line; then a worker with {LITTLE_S:+} s, which goes by the"
            f" database's clock; of {len(deployment.clients.accepted)} messages valid for"
            f" {VALIDITY_S:,} s 0 expired"
        )
    )


@pytest.mark.fault(40)
def test_processes_whose_clocks_differ_write_one_ledger_in_order(
    new_deployment: NewDeployment,
) -> None:
    deployment = new_deployment("postgresql")
    deployment.carrier()
    ahead, behind = (
        deployment.run("api", clock=clock_of(seconds)) for seconds in (LITTLE_S, -LITTLE_S)
    )
    deployment.run("worker")
    ahead.wait_until_ready(ENDED_WITHIN_S)
    behind.wait_until_ready(ENDED_WITHIN_S)
    differ_s = []
    with psycopg.connect(deployment.db.url, autocommit=True) as sql:
        for number in range(int(quick_or_long(SENDS, 20 * SENDS))):
            deployment.balancer = (ahead, behind)[number % 2].address
            [message_id] = deployment.clients.send(1)
            [(now_s,)] = sql.execute(
                "SELECT extract(epoch FROM clock_timestamp())::float8"
            ).fetchall()
            differ_s.append(
                float(now_s) - ids.made_at_ms(ids.number_of_text("msg", message_id) or 0) / 1_000
            )
    deployment.balancer = ""
    assert min(differ_s) > -0.1, "made after it was answered: it was not the database's clock"
    assert sorted(differ_s)[len(differ_s) // 2] < LITTLE_S / 2, differ_s
    deployment.holds(
        how=(
            f"two API processes {2 * LITTLE_S} s apart, asked in turn {len(differ_s)} times: the"
            f" ledger in order, each id at most {max(0.0, -min(differ_s)) * 1_000:.0f} ms ahead of"
            " the database's clock"
        )
    )


@pytest.mark.long
@pytest.mark.fault(40)
def test_a_database_whose_clock_is_set_an_hour_ahead_stops_claims_and_ends_nothing(
    new_deployment: NewDeployment,
    private_postgres: PrivatePostgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = set_clock_of(private_postgres, monkeypatch)
    migrate.upgrade(private_postgres.url)
    deployment = new_deployment("postgresql", url=private_postgres.url)
    carrier, away = deployment.carrier(), deployment.carrier(name="away", prefix=ELSEWHERE)
    away.proxy.refuse()
    deployment.start((("api",), ("worker",)))
    send_valid_for(deployment, VALIDITY_S)
    deployment.clients.send(SENDS)
    carrier.wait_for("submit_sm", SENDS)
    clock.write_text(f"+{HOUR_S}")
    deployment.sender.wait_for_event("clock_apart", LOOKED_WITHIN_S)
    deployment.clients.send(SENDS)
    deployment.until(lambda: deployment.count("queued") >= SENDS, "queued, and not claimed")
    assert (len(carrier.events("submit_sm")), deployment.count("failed")) == (SENDS, 0)
    clock.write_text("+0")
    recovered_s = deployment.until(
        lambda: len(carrier.events("submit_sm")) == 2 * SENDS, "claimed again", LOOKED_WITHIN_S
    )
    away.proxy.accept()
    deployment.holds(
        recovered_s=recovered_s,
        how=(
            f"the database's clock set {HOUR_S:+,} s and back: seen within {EVERY_S:.0f} s, then"
            " nothing was claimed and nothing expired; from its return until sent again"
        ),
    )


def set_clock_of(server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the file that says how far the server's clock is moved. The server is started anew
    for that.
    """
    clock = server.directory / "clock"
    clock.write_text("+0")
    clock.chmod(0o644)
    server.stop()
    with monkeypatch.context() as of_server:
        for name, value in fake_time(
            FAKETIME_TIMESTAMP_FILE=str(clock),
            FAKETIME_CACHE_DURATION="1",
            FAKETIME_DONT_FAKE_MONOTONIC="1",
        ).items():
            of_server.setenv(name, value)
        server.start()
    return clock
