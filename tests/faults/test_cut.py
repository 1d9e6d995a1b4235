"""The network is cut, and after that no process may hang: it ends what it was, and begins anew
(docs/reliability.md, row 37).
"""

import time
from collections.abc import Callable
from typing import Final

import psycopg
import pytest

from heliograph.database import migrate
from tests.support.crash.processes import ServerProcess
from tests.support.faults.deployment import Deployment
from tests.support.faults.proxy import Loss, Proxy
from tests.support.services import netns
from tests.support.services.postgres import PrivatePostgres

WINDOW: Final = 10
# a process that cannot look whether it was retired begins anew after 20 s without a beat
BEGUN_WITHIN_S: Final = 45.0
CUT_S: Final = 32.0  # the lease ends after 20 s
CUTS: Final = 10
WORKERS: Final = 10  # cut at once: each of them, at each cut, is a cut of its own
RECOVERED_WITHIN_S: Final = 90.0
STARTED_WITHIN_S: Final = 240.0  # so many processes at once, on a machine that others use too
HOT_CONNECTIONS: Final = 6
NewDeployment = Callable[..., Deployment]


def asks_in_transaction(heard: bytes) -> bool:
    """Tells whether a hot connection has asked something since its last BEGIN."""
    _, began, since = heard.rpartition(b"BEGIN\0")
    return bool(began) and b"__asyncpg_" in since and b"E\0\0\0\x09\0" in since


def fall_silent_in_transactions(proxy: Proxy) -> Loss:
    """Lets each hot connection die without a word in the middle of its next transaction, from now
    on: its first statement after BEGIN is not answered. (asyncpg names the statements that it
    prepares, and runs them with an Execute message of nine octets; psycopg says BEGIN just as it
    does, and names its statements otherwise.)
    """
    loss = proxy.lose(
        lambda said, heard: asks_in_transaction(heard),
        said_by="server",
        times=HOT_CONNECTIONS,
        then="swallow",
    )
    deadline_s = time.monotonic() + BEGUN_WITHIN_S
    while loss.left == HOT_CONNECTIONS:
        assert time.monotonic() < deadline_s, "no transaction was lost"
        time.sleep(0.01)
    return loss


@pytest.mark.fault(37)
def test_a_process_whose_statement_waits_on_a_dead_connection_when_it_is_retired_begins_anew(
    new_deployment: NewDeployment,
) -> None:
    """The race of a cut is run without its 20 s: the turn is canceled while its statement waits on
    a connection that is dead, and asyncpg can no longer reach the database to cancel that statement
    there.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier(window=WINDOW)
    deployment.start((("api",),))
    proxy = deployment.database_proxy(for_all=False)
    worker = deployment.run("worker", database=proxy)
    deployment.clients.send(5)
    carrier.wait_for("submit_sm", 5)
    silence = fall_silent_in_transactions(proxy)
    proxy.refuse_new()
    with psycopg.connect(deployment.db.url, autocommit=True) as sql:
        sql.execute("DELETE FROM workers WHERE kind = 'worker'")
    worker.wait_for_event("worker_begins_anew", BEGUN_WITHIN_S)
    # its last words: so the statement that waited was given up, and not canceled
    worker.wait_for_event("turn_failed", BEGUN_WITHIN_S)
    carrier.wait_for("unbind", 1)
    assert len(carrier.events("bind")) == 1, "bound without a lease"
    silence.left = 0
    proxy.accept()
    back_s = time.monotonic()
    worker.wait_for_event("worker_begun_anew", BEGUN_WITHIN_S)
    recovered_s = time.monotonic() - back_s
    deployment.clients.send(5)
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=(
            "a worker retired while its hot connections are dead and new ones are refused, 1 "
            "time, 0 hung; from the database's return until begun anew"
        ),
    )


@pytest.mark.long
@pytest.mark.fault(37)
def test_no_process_hangs_after_a_cut_of_32_s(
    new_deployment: NewDeployment, private_postgres: PrivatePostgres
) -> None:
    """Workers run in a network namespace of their own, with the database and the carrier at the
    other end of a cable that is pulled again and again.
    """
    migrate.upgrade(private_postgres.url)
    deployment = new_deployment("postgresql", url=private_postgres.url)
    with netns.cable(37) as cable:
        url = admitted(private_postgres, cable)
        carrier = deployment.carrier(window=WINDOW)
        door = deployment.proxy(carrier.smsc_port, listens_at=cable.outside)
        deployment.command(
            "carrier", "set", "carrier", "--host", cable.outside, "--port", str(door.port)
        )
        deployment.start((("api",),))
        workers = [
            deployment.run("worker", database=url, within=netns.within(cable), REDIS_URL="")
            for _ in range(WORKERS)
        ]
        deployment.until(lambda: bound(workers) == WORKERS, "all are bound", STARTED_WITHIN_S)
        recovered_s = []
        with deployment.clients.sending(per_second=20):
            for _ in range(CUTS):
                before = [worker.log.count('"worker_begun_anew"') for worker in workers]
                netns.down(cable)
                time.sleep(CUT_S)  # the fault is that time
                netns.up(cable)
                recovered_s.append(until_begun_anew(deployment, workers, before))
                print(
                    f"cut {len(recovered_s)}: all had begun anew after {recovered_s[-1]:.1f} s",
                    flush=True,
                )
        ended = sum(
            worker.process.poll() is not None or '"worker_hangs"' in worker.log
            for worker in workers
        )
        deployment.until(
            lambda: door.open == WORKERS,
            "one bind for each worker, and none of a former life",
            RECOVERED_WITHIN_S,
        )
        assert not ended, "ended by its deadline"
        deployment.settle_doubts(RECOVERED_WITHIN_S)
        cuts = CUTS * WORKERS
        deployment.holds(
            repeated_max=WINDOW * cuts,
            recovered_s=max(recovered_s),
            how=(
                f"the interface down for {CUT_S:.0f} s, {CUTS} times, for {WORKERS} workers at"
                f" once: {cuts} cuts of a process, {ended} hung; from the interface's return until"
                " the last of them had begun anew"
            ),
        )


def admitted(server: PrivatePostgres, cable: netns.Cable) -> str:
    """Returns the server's URL for who is at the cable's other end. The server is started anew,
    with room for all their connections.
    """
    url = server.listen_at(cable.outside)
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET max_connections = 400")
    server.stop()
    server.start()
    return url


def bound(workers: list[ServerProcess]) -> int:
    return sum('"1 of 1 binds"' in worker.log for worker in workers)


def until_begun_anew(
    deployment: Deployment, workers: list[ServerProcess], before: list[int]
) -> float:
    def begun() -> bool:
        return all(
            worker.log.count('"worker_begun_anew"') > count
            for worker, count in zip(workers, before, strict=True)
        )

    return deployment.until(begun, "all have begun anew", RECOVERED_WITHIN_S)
