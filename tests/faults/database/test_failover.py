"""The database fails over to another host: one host is silent, one is promoted, one comes back and
does not know of it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import psycopg
import pytest

from heliograph.database import migrate
from tests.support.documents import files
from tests.support.faults.deployment import ALONE, Deployment
from tests.support.services.failover import PgBouncer
from tests.support.services.network import Network
from tests.support.services.postgres import OWNER, PrivatePostgres
from tests.support.sources import ROOT

SILENT_WITHIN_S = 3.0
BUSY_MACHINE_S = 2.0
WINDOW = 10
PAGE = ROOT / "docs" / "failover.md"
NewDeployment = Callable[..., Deployment]
APP, FIRST, SECOND = "10.77.0.10", "10.77.0.11", "10.77.0.12"


class Pair(NamedTuple):
    """A pair is a primary whose commits wait for its standby, on hosts of their own; `url` names
    both.
    """

    network: Network
    first: PrivatePostgres
    second: PrivatePostgres
    url: str


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        network = stack.enter_context(Network({"app": APP, "first": FIRST, "second": SECOND}))
        with network.entered("first"):
            first = stack.enter_context(PrivatePostgres(FIRST))
        with network.entered("second"):
            second = stack.enter_context(PrivatePostgres(SECOND, standby_of=first.url))
        with network.entered("first"), psycopg.connect(first.url, autocommit=True) as sql:
            # after the copy was made: the second one waits for nobody
            sql.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            sql.execute("SELECT pg_reload_conf()")
        with network.entered("app"):
            yield Pair(
                network,
                first,
                second,
                f"postgresql://{OWNER}@{first.address},{second.address}/postgres"
                "?target_session_attrs=read-write",
            )


def fall_silent(pair: Pair) -> Callable[[], None]:
    pair.network.link_down("first")
    return lambda: pair.network.link_up("first")


def freeze(pair: Pair) -> Callable[[], None]:
    """Freezes the first host. Its kernel still acknowledges what it is sent."""
    pair.first.hang()
    return pair.first.go_on


@pytest.mark.fault(41)
@pytest.mark.parametrize(("fault", "what"), [(fall_silent, "falls silent"), (freeze, "is frozen")])
def test_a_silent_host_is_left_for_the_one_that_was_promoted_and_its_return_changes_nothing(
    new_deployment: NewDeployment,
    pair: Pair,
    fault: Callable[[Pair], Callable[[], None]],
    what: str,
) -> None:
    migrate.upgrade(pair.url)
    deployment = new_deployment("postgresql", url=pair.url, redis_url="")
    clients = deployment.clients
    carrier = deployment.carrier(window=WINDOW)
    deployment.start(ALONE)

    def answered(since: int) -> int:
        return sum(reply.status == 200 for reply in clients.replies[since:])

    with clients.sending(per_second=50):
        clients.wait_for(30)
        give_back = fault(pair)
        with pair.network.entered("second"):
            pair.second.promote()
        gone, submitted = len(clients.replies), len(carrier.submits())
        recovered_s = deployment.until(lambda: answered(gone) >= 10, "accepted again")
        deployment.until(lambda: len(carrier.submits()) > submitted + 10, "submitted again")
        give_back()
        clients.wait_for(30)
    assert recovered_s < SILENT_WITHIN_S + BUSY_MACHINE_S
    assert beside(deployment) == {
        f"database host {pair.first.address}": (
            "is a former primary: its timeline is 1, and 2 was seen"
        ),
        f"database host {pair.second.address}": "is written to",
    }
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=(
            f"two hosts in DATABASE_URL: the first {what} under load, the second is promoted; from"
            " then until 10 were accepted; the first one comes back, goes on as a primary, and"
            " nobody asks it"
        ),
    )


def beside(deployment: Deployment) -> dict[str, str]:
    """Returns what `heliograph doctor`, a process that has just begun, finds of each host."""
    return {
        finding["check"]: finding["found"]
        for finding in deployment.command("doctor", status=0)
        if finding["check"].startswith("database host")
    }


@pytest.mark.fault(41)
def test_everything_works_through_pgbouncer_in_session_mode(
    private_postgres: PrivatePostgres, new_deployment: NewDeployment
) -> None:
    """The files are those of docs/failover.md. What a session needs is said in it; locks, prepared
    statements and what is set stay with it.
    """
    with PgBouncer(files(PAGE), private_postgres.port) as bouncer:
        migrate.upgrade(bouncer.url)
        deployment = new_deployment("postgresql", url=bouncer.url, redis_url="")
        deployment.carrier(window=WINDOW)
        deployment.start([("api",), ("worker",)])
        with deployment.clients.sending(per_second=50):
            deployment.clients.wait_for(30)
            private_postgres.kill()
            private_postgres.start()
            gone = time.monotonic()
            recovered_s = deployment.until(
                lambda: (
                    sum(
                        reply.status == 200 and reply.at_s > gone
                        for reply in deployment.clients.replies
                    )
                    >= 10
                ),
                "accepted",
            )
        assert refusal(deployment, "serve").endswith("Another server or worker uses this database.")
        deployment.settle_doubts()
        deployment.holds(
            repeated_max=WINDOW,
            recovered_s=recovered_s,
            how=(
                "PgBouncer in session mode with the handbook's file; PostgreSQL behind it is "
                "killed and started under load; from its return until 10 were accepted"
            ),
        )
        deployment.db.close()  # PgBouncer waits for its clients before it ends


def refusal(deployment: Deployment, command: str) -> str:
    """Returns what a process says that may not begin."""
    process = deployment.run(command)
    assert process.process.wait(30) == 1
    return process.log.strip()
