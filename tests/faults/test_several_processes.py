"""Several processes serve carriers: they are killed, stopped, joined, and ended in order
(docs/reliability.md, rows 2 to 6).
"""

import signal
import time
from collections.abc import Callable

import psycopg
import pytest

from heliograph.database.leases import LOOK_S, RETIRE_S, WRITE_S
from tests.support.crash.balancer import handbook_haproxy
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.proxy import COMMITTED
from tests.support.faults.several import serving
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy

WINDOW = 10
TEN_SEGMENTS = 1_500
TAKEN_OVER_WITHIN_S = 45.0
HELD_UP_AT_MOST_S = 5.0
ENDED_WITHIN_S = 30.0
CLAIMING = """
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND state = 'idle in transaction' AND query LIKE '%FOR UPDATE SKIP%'"""


def one_more(deployment: Deployment, carrier: CarrierUnderTest) -> float:
    """Returns how many seconds the carrier waits for the next submission."""
    seen = len(carrier.submits())
    return deployment.until(lambda: len(carrier.submits()) > seen, "one more")


@pytest.mark.fault(2)
def test_what_a_killed_process_had_claimed_and_not_written_goes_out_from_another(
    new_deployment: Callable[..., Deployment],
) -> None:
    """The process is killed between the commit of its claim and the wire. The proxy makes that time
    long: it swallows the reply to that COMMIT.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier(window=5)
    deployment.start((("api",), ("scheduler",)) if LONG else (("api",),))
    proxy = deployment.database_proxy(for_all=False)
    [killed] = serving(deployment, carrier, database=proxy)
    if LONG:
        deployment.run("worker")  # leaves the carrier alone until the other one is retired
    lost = proxy.lose(
        lambda said, heard: COMMITTED in said and b"INSERT INTO inflight" in heard,
        said_by="server",
        then="swallow",
    )
    deployment.clients.send(1, octets=TEN_SEGMENTS)
    lost.wait()
    killed.process.kill()
    killed.process.wait()
    if not LONG:
        deployment.run("worker")  # nobody else lives, so it need not wait for anybody's beat
    recovered_s = deployment.until(
        lambda: len(carrier.submits()) == 5,
        "the half that was not to be written",
        TAKEN_OVER_WITHIN_S,
    )
    assert {submit["part"] for submit in carrier.submits()} == {6, 7, 8, 9, 10}
    # of those, only the dead process knew that they were not written
    assert deployment.in_doubt() == 5
    deployment.age_doubts()
    deployment.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=(
            "kill -9 between the claim's COMMIT and the wire; until the claimed segments are with "
            "the carrier"
        )
        + (", from a process that lived beside it" if LONG else ", from a process started then"),
    )


@pytest.mark.fault(3)
def test_a_process_killed_with_a_full_window_charges_once(deployment: Deployment) -> None:
    carrier = deployment.carrier("--answer-delay-ms", "250", window=WINDOW)
    if deployment.kind == "sqlite":
        deployment.start()
        killed = deployment.sender
    else:
        deployment.start(
            (("api", "--workers", "2"), ("scheduler",)) if LONG else (("api", "--workers", "2"),)
        )
        [killed] = serving(deployment, carrier)
        if LONG:
            deployment.run("worker")
    with deployment.clients.sending(per_second=50):
        deployment.until(lambda: carrier.waiting()[0] == WINDOW, "the window is full")
        binds = len(carrier.events("bind"))
        killed.process.kill()
        killed.process.wait()
        if deployment.kind == "sqlite" or not LONG:
            deployment.run("serve" if deployment.kind == "sqlite" else "worker")
        recovered_s = deployment.until(
            lambda: len(carrier.events("bind")) > binds, "bound again", TAKEN_OVER_WITHIN_S
        )
        carrier.wait_for("submit_sm", 5 * WINDOW)
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how="kill -9 with a full window; until bound again, from "
        + (
            "a process that lived beside it"
            if LONG and deployment.kind != "sqlite"
            else "a process started then"
        ),
    )


@pytest.mark.fault(4)
def test_a_stopped_process_holds_up_nobody_and_writes_nothing_late(
    new_deployment: Callable[..., Deployment],
) -> None:
    """The process is stopped in the middle of a transaction, with rows of the queue locked. Its
    database answers slowly, so that there is a middle.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier("--answer-delay-ms", "50", window=WINDOW)
    deployment.start((("api",), ("scheduler",)))
    proxy = deployment.database_proxy(for_all=False)
    stopped, _ = [*serving(deployment, carrier, database=proxy), *serving(deployment, carrier)]
    session = carrier.events("bind")[0]["session"]
    with (
        deployment.clients.sending(per_second=50),
        psycopg.connect(deployment.db.url, autocommit=True) as sql,
    ):
        carrier.wait_for("submit_sm", 5 * WINDOW)
        proxy.delay(server_s=0.2)
        deployment.until(lambda: sql.execute(CLAIMING).fetchone(), "it claims")
        stopped.process.send_signal(signal.SIGSTOP)
        stopped_s, seen = time.monotonic(), len(carrier.submits())
        held_up_s = deployment.until(
            lambda: len(carrier.submits()) > seen + WINDOW, "the other one goes on"
        )
        while time.monotonic() - stopped_s < quick_or_long(7, 90):
            held_up_s = max(held_up_s, one_more(deployment, carrier))
        proxy.delay()
        went_on_ms = carrier.events("submit_sm")[-1]["at_ms"]
        stopped.process.send_signal(signal.SIGCONT)
        if LONG:  # retired meanwhile: it begins anew
            stopped.wait_for_event("worker_begins_anew", 10)
            carrier.wait_for("bind", 3)
        carrier.wait_for("submit_sm", len(carrier.events("submit_sm")) + 5 * WINDOW)
    assert max(reply.took_s for reply in deployment.clients.replies) < HELD_UP_AT_MOST_S
    assert held_up_s < HELD_UP_AT_MOST_S
    late = [
        submit
        for submit in carrier.events("submit_sm")
        if submit["session"] == session and submit["at_ms"] > went_on_ms
    ]
    assert not (LONG and late), "it was retired, and wrote to its old bind"
    deployment.age_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=held_up_s,
        how=(
            f"SIGSTOP in the middle of a claim's transaction, for {quick_or_long(7, 90):.0f} s; "
            "the longest that others stood still meanwhile"
        ),
    )


@pytest.mark.long
@pytest.mark.fault(4)
def test_a_process_stopped_for_less_than_half_a_minute_goes_on_once_it_has_shown_itself(
    new_deployment: Callable[..., Deployment],
) -> None:
    """Nobody has retired it yet, but its last beat is too old: what it claims meanwhile is not
    written.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier("--answer-delay-ms", "50", window=WINDOW)
    deployment.start((("api",), ("scheduler",)))
    [stopped] = serving(deployment, carrier)
    with deployment.clients.sending(per_second=50):
        carrier.wait_for("submit_sm", 5 * WINDOW)
        stopped.process.send_signal(signal.SIGSTOP)
        time.sleep((WRITE_S + RETIRE_S) / 2)  # between the two: that is the fault
        submits = len(carrier.submits())
        stopped.process.send_signal(signal.SIGCONT)
        recovered_s = deployment.until(
            lambda: len(carrier.submits()) > submits + 5 * WINDOW, "it goes on"
        )
    deployment.age_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how="SIGSTOP for 25 s; from SIGCONT until it had submitted 50 more",
    )


@pytest.mark.fault(6)
def test_processes_ended_one_after_the_other_empty_their_windows_and_unbind(
    new_deployment: Callable[..., Deployment],
) -> None:
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier("--answer-delay-ms", "250", window=WINDOW)
    deployment.start((("api",), ("scheduler",), ("worker",)))
    carrier.wait_for("bind", 1)
    ended_s = []
    with deployment.clients.sending(per_second=50):
        old = serving(deployment, carrier, 2)
        carrier.wait_for("unbind", 1)  # the worker's: it leaves the carrier to these two
        for process in old:
            carrier.wait_for("submit_sm", len(carrier.submits()) + 3 * WINDOW)
            unbound = len(carrier.events("unbind"))
            began_s = time.monotonic()
            assert process.end() == 0
            ended_s.append(time.monotonic() - began_s)
            assert len(carrier.events("unbind")) == unbound + 1
            assert deployment.in_doubt() == 0
            serving(deployment, carrier)
        for name in ("worker", "scheduler"):
            server = next(server for server in deployment.servers if server.name == name)
            assert server.end() == 0
            deployment.run(name).wait_for_event("working", TAKEN_OVER_WITHIN_S)
        if LONG:  # in its quick form: tests/crash/test_rolling_restart.py
            _roll_the_api(deployment)
    assert max(ended_s) < ENDED_WITHIN_S
    assert not [event for event in carrier.events("lost") if event["unanswered"]]
    failed = [reply for reply in deployment.clients.replies if reply.status != 200]
    assert not failed, failed[:3]
    deployment.holds(
        repeated_max=0,
        recovered_s=max(ended_s),
        how="carrier processes, worker and scheduler"
        + (", and twice each of two API processes behind HAProxy," if LONG else "")
        + f" replaced one by one under load: 0 of {len(deployment.clients.replies):,} requests"
        " failed; the longest from a carrier process's SIGTERM to its end",
    )


def _roll_the_api(deployment: Deployment) -> None:
    """Starts two more, behind the handbook's HAProxy, and replaces each twice. Clients go on with
    the last one.
    """
    ports = [free_port(), free_port()]
    deployment.balancer = deployment.api.address  # until the new ones are ready
    apis = {port: deployment.run("api", port=port, HELIOGRAPH_DRAIN_S="") for port in ports}
    for api in apis.values():
        api.wait_until_ready()
    with HAProxy(handbook_haproxy(*ports)) as balancer:
        deployment.balancer = balancer.address
        for port in ports * 2:
            deployment.clients.wait_for(20)
            assert apis[port].end() == 0
            apis[port] = deployment.run("api", port=port, HELIOGRAPH_DRAIN_S="")
            apis[port].wait_until_ready()
        deployment.clients.wait_for(20)
        deployment.balancer = deployment.api.address
        deployment.clients.wait_for(20)  # whoever still asked the balancer is answered


@pytest.mark.long
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.fault(2)
def test_another_scheduler_takes_over(
    new_deployment: Callable[..., Deployment], fault: int
) -> None:
    """What is in doubt meanwhile, because its connection breaks, is settled by its receipt then.
    Only a scheduler does that.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier("--chaos", "drop=1")
    deployment.start((("api",), ("scheduler",)))
    first = deployment.servers[-1]
    first.wait_for_event("scheduling", 10)
    second = deployment.run("scheduler")
    serving(deployment, carrier)
    first.process.send_signal(fault)
    began_s = time.monotonic()
    deployment.clients.send(1)
    deployment.until(deployment.in_doubt, "it is in doubt")
    carrier.wait_for("acknowledged", 1)
    assert deployment.in_doubt()
    second.wait_for_event("scheduling", TAKEN_OVER_WITHIN_S)
    recovered_s = time.monotonic() - began_s
    assert recovered_s > RETIRE_S - 6 * LOOK_S
    deployment.settle()
    if fault == signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
    deployment.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=f"the active scheduler gets {signal.Signals(fault).name}; until another one is active",
    )
