"""Carriers served by several processes: killed, stopped, joined, ended in order
(docs/reliability.md, rows 2 to 6).
"""

import signal
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from heliograph.database.leases import LOOK_S, RETIRE_S, WRITE_S
from tests.crash.test_rolling_restart import handbook_haproxy
from tests.support.crash.processes import ServerProcess
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.house import House
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.proxy import COMMITTED
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy

WINDOW = 10
TEN_SEGMENTS = 1_500
TAKEN_OVER_WITHIN_S = 45.0
HELD_UP_AT_MOST_S = 5.0
ENDED_WITHIN_S = 30.0
# not bound for so long, then until all have heard of it; and a busy machine
WAIVED_WITHIN_S = 10.0 + 7.0 + 15.0
SERVE_IT = ("carrier", "run", "carrier")
CLAIMING = """
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND state = 'idle in transaction' AND query LIKE '%FOR UPDATE SKIP%'"""


def serving(
    house: House, carrier: CarrierUnderTest, count: int = 1, **more: Any
) -> list[ServerProcess]:
    """So many more processes of the carrier's own, one after the other, each bound."""
    started = []
    for _ in range(count):
        binds = len(carrier.events("bind"))
        started.append(house.run(*SERVE_IT, **more))
        carrier.wait_for("bind", binds + 1)
    return started


def one_more(house: House, carrier: CarrierUnderTest) -> float:
    """How many seconds the carrier waits for the next submission."""
    seen = len(carrier.submits())
    return house.until(lambda: len(carrier.submits()) > seen, "one more")


def busiest(times_ms: Sequence[int], within_ms: int) -> int:
    """How many there were at most in so long a time."""
    first = worst = 0
    for place, at_ms in enumerate(times_ms):
        while at_ms - times_ms[first] >= within_ms:
            first += 1
        worst = max(worst, place - first + 1)
    return worst


@pytest.mark.fault(2)
def test_what_a_killed_process_had_claimed_and_not_written_goes_out_from_another(
    new_house: Callable[..., House],
) -> None:
    """Killed between the commit of its claim and the wire, which the proxy makes long: it
    swallows the reply to that COMMIT.
    """
    house = new_house("postgresql")
    carrier = house.carrier(window=5)
    house.start((("api",), ("scheduler",)) if LONG else (("api",),))
    proxy = house.database_proxy(for_all=False)
    [killed] = serving(house, carrier, database=proxy)
    if LONG:
        house.run("worker")  # leaves the carrier alone until the other one is retired
    lost = proxy.lose(
        lambda said, heard: COMMITTED in said and b"INSERT INTO inflight" in heard,
        said_by="server",
        then="swallow",
    )
    house.clients.send(1, octets=TEN_SEGMENTS)
    lost.wait()
    killed.process.kill()
    killed.process.wait()
    if not LONG:
        house.run("worker")  # nobody else lives, so it need not wait for anybody's beat
    recovered_s = house.until(
        lambda: len(carrier.submits()) == 5,
        "the half that was not to be written",
        TAKEN_OVER_WITHIN_S,
    )
    assert {submit["part"] for submit in carrier.submits()} == {6, 7, 8, 9, 10}
    assert house.in_doubt() == 5  # of those, only the dead process knew that they were not written
    house.age_doubts()
    house.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=(
            "kill -9 between the claim's COMMIT and the wire; until the claimed segments are with "
            "the carrier"
        )
        + (", from a process that lived beside it" if LONG else ", from a process started then"),
    )


@pytest.mark.fault(3)
def test_a_process_killed_with_a_full_window_charges_once(house: House) -> None:
    carrier = house.carrier("--answer-delay-ms", "250", window=WINDOW)
    if house.kind == "sqlite":
        house.start()
        killed = house.sender
    else:
        house.start(
            (("api", "--workers", "2"), ("scheduler",)) if LONG else (("api", "--workers", "2"),)
        )
        [killed] = serving(house, carrier)
        if LONG:
            house.run("worker")
    with house.clients.sending(per_second=50):
        house.until(lambda: carrier.waiting()[0] == WINDOW, "the window is full")
        binds = len(carrier.events("bind"))
        killed.process.kill()
        killed.process.wait()
        if house.kind == "sqlite" or not LONG:
            house.run("serve" if house.kind == "sqlite" else "worker")
        recovered_s = house.until(
            lambda: len(carrier.events("bind")) > binds, "bound again", TAKEN_OVER_WITHIN_S
        )
        carrier.wait_for("submit_sm", 5 * WINDOW)
    house.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how="kill -9 with a full window; until bound again, from "
        + (
            "a process that lived beside it"
            if LONG and house.kind != "sqlite"
            else "a process started then"
        ),
    )


@pytest.mark.fault(4)
def test_a_stopped_process_holds_up_nobody_and_writes_nothing_late(
    new_house: Callable[..., House],
) -> None:
    """Stopped in the middle of a transaction, with rows of the queue locked; its database answers
    slowly, so that there is a middle.
    """
    house = new_house("postgresql")
    carrier = house.carrier("--answer-delay-ms", "50", window=WINDOW)
    house.start((("api",), ("scheduler",)))
    proxy = house.database_proxy(for_all=False)
    stopped, _ = [*serving(house, carrier, database=proxy), *serving(house, carrier)]
    session = carrier.events("bind")[0]["session"]
    with (
        house.clients.sending(per_second=50),
        psycopg.connect(house.db.url, autocommit=True) as sql,
    ):
        carrier.wait_for("submit_sm", 5 * WINDOW)
        proxy.delay(server_s=0.2)
        house.until(lambda: sql.execute(CLAIMING).fetchone(), "it claims")
        stopped.process.send_signal(signal.SIGSTOP)
        stopped_s, seen = time.monotonic(), len(carrier.submits())
        held_up_s = house.until(
            lambda: len(carrier.submits()) > seen + WINDOW, "the other one goes on"
        )
        while time.monotonic() - stopped_s < quick_or_long(7, 90):
            held_up_s = max(held_up_s, one_more(house, carrier))
        proxy.delay()
        went_on_ms = carrier.events("submit_sm")[-1]["at_ms"]
        stopped.process.send_signal(signal.SIGCONT)
        if LONG:  # retired meanwhile: it begins anew
            stopped.wait_for_event("worker_begins_anew", 10)
            carrier.wait_for("bind", 3)
        carrier.wait_for("submit_sm", len(carrier.events("submit_sm")) + 5 * WINDOW)
    assert max(reply.took_s for reply in house.clients.replies) < HELD_UP_AT_MOST_S
    assert held_up_s < HELD_UP_AT_MOST_S
    late = [
        submit
        for submit in carrier.events("submit_sm")
        if submit["session"] == session and submit["at_ms"] > went_on_ms
    ]
    assert not (LONG and late), "it was retired, and wrote to its old bind"
    house.age_doubts()
    house.holds(
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
    new_house: Callable[..., House],
) -> None:
    """Nobody has retired it yet, but its last beat is too old: what it claims meanwhile is not
    written.
    """
    house = new_house("postgresql")
    carrier = house.carrier("--answer-delay-ms", "50", window=WINDOW)
    house.start((("api",), ("scheduler",)))
    [stopped] = serving(house, carrier)
    with house.clients.sending(per_second=50):
        carrier.wait_for("submit_sm", 5 * WINDOW)
        stopped.process.send_signal(signal.SIGSTOP)
        time.sleep((WRITE_S + RETIRE_S) / 2)  # between the two: that is the fault
        submits = len(carrier.submits())
        stopped.process.send_signal(signal.SIGCONT)
        recovered_s = house.until(
            lambda: len(carrier.submits()) > submits + 5 * WINDOW, "it goes on"
        )
    house.age_doubts()
    house.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how="SIGSTOP for 25 s; from SIGCONT until it had submitted 50 more",
    )


@pytest.mark.fault(5)
def test_two_processes_on_one_carrier_send_each_message_once_and_keep_its_rate(
    new_house: Callable[..., House],
) -> None:
    tps = 40
    house = new_house("postgresql")
    carrier = house.carrier(window=WINDOW, tps=tps)
    house.start((("api",), ("scheduler",)))
    serving(house, carrier)
    with house.clients.sending(per_second=2 * tps):
        carrier.wait_for("submit_sm", 2 * tps)
        [second] = serving(house, carrier)
        joined_s = time.monotonic()
        sessions = [event["session"] for event in carrier.events("bind")]
        house.until(
            lambda: {submit["session"] for submit in carrier.submits()[-tps:]} == set(sessions),
            "both send",
        )
        shared_s = time.monotonic() - joined_s
        carrier.wait_for("submit_sm", len(carrier.submits()) + round(quick_or_long(2, 30)) * tps)
        assert second.end() == 0
        carrier.wait_for("submit_sm", len(carrier.submits()) + 3 * tps)
    times_ms = [submit["at_ms"] for submit in carrier.events("submit_sm")]
    # As the carrier saw them arrive: what a busy machine delays comes together. Two that knew
    # nothing of each other would send twice the rate.
    assert busiest(times_ms, 5_000) <= 1.1 * 5 * tps
    house.holds(
        repeated_max=0,
        recovered_s=shared_s,
        how=(
            f"{tps} submit_sm/s agreed, at most {busiest(times_ms, 1_000)} arrived in any second"
            " while one came and went; until the newcomer had its share"
        ),
    )


@pytest.mark.fault(5)
@pytest.mark.long
def test_a_process_that_cannot_bind_leaves_its_part_of_the_rate_to_the_one_that_can(
    new_house: Callable[..., House],
) -> None:
    """Of a rate of 1 a second one of two processes has all, the older one: here it is the
    one that the carrier does not let in again.
    """
    house = new_house("postgresql")
    carrier = house.carrier(window=WINDOW, tps=1, script="after 2 binds: already-bound for 1000")
    house.start((("api",), ("scheduler",)))
    serving(house, carrier, 2)
    assert carrier.proxy.cut(oldest=1) == 1
    carrier.wait_for("bind", 3)
    house.clients.send(2)
    recovered_s = house.until(
        lambda: len(carrier.submits()) == 2,
        "both messages, from the younger process",
        WAIVED_WITHIN_S,
    )
    house.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=(
            "1 submit_sm/s agreed, and the older of two processes is not let in; until two messages"
            " went out from the younger one"
        ),
    )


@pytest.mark.fault(6)
def test_processes_ended_one_after_the_other_empty_their_windows_and_unbind(
    new_house: Callable[..., House],
) -> None:
    house = new_house("postgresql")
    carrier = house.carrier("--answer-delay-ms", "250", window=WINDOW)
    house.start((("api",), ("scheduler",), ("worker",)))
    ended_s = []
    with house.clients.sending(per_second=50):
        old = serving(house, carrier, 2)
        for process in old:
            carrier.wait_for("submit_sm", len(carrier.submits()) + 3 * WINDOW)
            unbound = len(carrier.events("unbind"))
            began_s = time.monotonic()
            assert process.end() == 0
            ended_s.append(time.monotonic() - began_s)
            assert len(carrier.events("unbind")) == unbound + 1
            assert house.in_doubt() == 0
            serving(house, carrier)
        for name in ("worker", "scheduler"):
            server = next(server for server in house.servers if server.name == name)
            assert server.end() == 0
            house.run(name).wait_for_event("working", TAKEN_OVER_WITHIN_S)
        if LONG:  # in its quick form: tests/crash/test_rolling_restart.py
            _roll_the_api(house)
    assert max(ended_s) < ENDED_WITHIN_S
    assert not [event for event in carrier.events("lost") if event["unanswered"]]
    failed = [reply for reply in house.clients.replies if reply.status != 200]
    assert not failed, failed[:3]
    house.holds(
        repeated_max=0,
        recovered_s=max(ended_s),
        how="carrier processes, worker and scheduler"
        + (", and twice each of two API processes behind HAProxy," if LONG else "")
        + f" replaced one by one under load: 0 of {len(house.clients.replies):,} requests failed;"
        " the longest from a carrier process's SIGTERM to its end",
    )


def _roll_the_api(house: House) -> None:
    """Two more, behind the handbook's HAProxy, each replaced twice. Clients go on with the
    last one.
    """
    ports = [free_port(), free_port()]
    house.balancer = house.api.address  # until the new ones are ready
    apis = {port: house.run("api", port=port, HELIOGRAPH_DRAIN_S="") for port in ports}
    for api in apis.values():
        api.wait_until_ready()
    with HAProxy(handbook_haproxy(*ports)) as balancer:
        house.balancer = balancer.address
        for port in ports * 2:
            house.clients.wait_for(20)
            assert apis[port].end() == 0
            apis[port] = house.run("api", port=port, HELIOGRAPH_DRAIN_S="")
            apis[port].wait_until_ready()
        house.clients.wait_for(20)
        house.balancer = house.api.address
        house.clients.wait_for(20)  # whoever still asked the balancer is answered


@pytest.mark.long
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.fault(2)
def test_another_scheduler_takes_over(new_house: Callable[..., House], fault: int) -> None:
    """What is in doubt meanwhile, because its connection breaks, is settled by its receipt
    then: that is a scheduler's to do.
    """
    house = new_house("postgresql")
    carrier = house.carrier("--chaos", "drop=1")
    house.start((("api",), ("scheduler",)))
    first = house.servers[-1]
    first.wait_for_event("scheduling", 10)
    second = house.run("scheduler")
    serving(house, carrier)
    first.process.send_signal(fault)
    began_s = time.monotonic()
    house.clients.send(1)
    house.until(house.in_doubt, "it is in doubt")
    carrier.wait_for("acknowledged", 1)
    assert house.in_doubt()
    second.wait_for_event("scheduling", TAKEN_OVER_WITHIN_S)
    recovered_s = time.monotonic() - began_s
    assert recovered_s > RETIRE_S - 6 * LOOK_S
    house.settle()
    if fault == signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
    house.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=f"the active scheduler gets {signal.Signals(fault).name}; until another one is active",
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_changed_connection_keeps_the_rate(new_house: Callable[..., House], kind: str) -> None:
    """A new link follows the old one, which may have used up the second's rate: so it waits for a
    second, counted from the old one's last answer. How many arrived in a second says less: what
    stands still for a moment finds many at once.
    """
    house = new_house(kind)
    carrier = house.carrier(tps=(tps := 40), window=50)
    house.start((("serve",),))
    house.clients.send(count := 8 * tps)
    for window in (51, 52):
        # a slow machine takes long for a command
        carrier.wait_for("submit_sm", min(len(carrier.submits()) + tps, count))
        house.command("carrier", "set", "carrier", "--window", str(window))
        house.clients.send(3 * tps)  # however long it took, the new link has something to send
        count += 3 * tps
    house.settle()
    times_ms: dict[int, list[int]] = {}
    for event in carrier.events("submit_sm"):
        times_ms.setdefault(event["session"], []).append(event["at_ms"])
    links = [times_ms[session] for session in sorted(times_ms)]
    pauses_ms = [after[0] - before[-1] for before, after in pairwise(links)]
    assert pauses_ms
    assert min(pauses_ms) >= 990, pauses_ms  # two clocks, each read to the millisecond
    assert busiest(sorted(at_ms for link in links for at_ms in link), 5_000) <= 1.1 * 5 * tps
