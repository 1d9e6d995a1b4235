"""Receivers of webhooks misbehave, and processes die with POSTs under way (docs/reliability.md,
rows 25 and 26).
"""

import statistics
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.receivers import (
    FAULTS,
    OPEN,
    Hearing,
    all_told,
    delays_s,
    events_stored,
    head,
    hearing,
    make_due,
    waiting,
)
from tests.support.memory import peak_mb
from tests.support.wire.webhook_receiver import says

WINDOW = 10
TAKEN_OVER_WITHIN_S = 45.0
HELD_UP_AT_MOST_S = 10.0  # who waits for a receiver that hangs waits for 15 s
RETRY_MS = 60_000
GROWTH_MAX_MB = 64  # the answers are 1 GiB each, and 50 MiB when they are unpacked
FAILS = {
    "500": (500, "status"),
    "redirect": (302, "status"),
    "cut short": (None, "closed"),
    "bad TLS": (None, "tls"),
}


@pytest.mark.fault(25)
def test_receivers_that_misbehave_hold_up_nobody_and_get_it_again(
    deployment: Deployment, tmp_path: Path
) -> None:
    """In its long form each hangs until its 15 s are over, and the next try comes by itself after a
    minute; and one answers after 14.9 s.
    """
    deployment.env |= OPEN
    deployment.carrier()
    with ExitStack() as ending:
        good, inside = (ending.enter_context(hearing(deployment)) for _ in range(2))
        bad = {
            name: ending.enter_context(hearing(deployment, fault))
            for name, fault in FAULTS.items()
            if LONG or name != "late"
        }
        moved = head(302, f"Location: {inside.receiver.url()}&", "Content-Length: 0")
        bad["redirect"] = ending.enter_context(hearing(deployment, says(moved)))
        bad["bad TLS"] = ending.enter_context(
            hearing(deployment, tls=Authority(tmp_path, "nobody's").server("127.0.0.1"))
        )
        deployment.start()
        before_mb = peak_mb(deployment.sender.process.pid)
        with deployment.clients.sending(per_second=20):
            deployment.clients.wait_for(round(quick_or_long(15, 300)))
        deployment.until(lambda: all_told(deployment, good), "the good one has heard all")
        deployment.until(
            lambda: all(
                any(row[:2] == seen for row in bad[name].failures()) for name, seen in FAILS.items()
            ),
            "those that fail at once",
        )
        took_ms = _hung(deployment, bad) if LONG else []
        _mend(deployment, good, bad)
        held_up_s = delays_s(good)
        assert held_up_s[-1] < HELD_UP_AT_MOST_S
        assert all(line.startswith("POST /hook?a=b HTTP") for line in inside.receiver.heads), (
            "a redirect was followed"
        )
        grown_mb = peak_mb(deployment.sender.process.pid) - before_mb
        assert grown_mb < GROWTH_MAX_MB
        assert bad["1 GiB"].failures() == bad["gzip bomb"].failures() == [], "their status counts"
        how = (
            f"{2 + len(bad)} endpoints of one account, {events_stored(deployment):,} events each;"
            f" beside those that misbehave a good one heard after"
            f" {statistics.median(held_up_s):.2f} s (median), {held_up_s[-1]:.1f} s at most;"
            f" the process grew by {grown_mb:.0f} MB"
        )
        if LONG:
            # the first try's failure is stored after its answer, and the next one is a minute after
            # that
            retried_ms = sorted(_retried_ms(bad["500"]))
            assert retried_ms[0] >= RETRY_MS - 50  # as this machine's clock counts
            how += (
                f"; who hangs was left after {min(took_ms) / 1e3:.1f} to {max(took_ms) / 1e3:.1f}"
                f" s, 14.9 s was in time; tried again after {retried_ms[0] / 1e3:.1f} to"
                f" {retried_ms[-1] / 1e3:.1f} s"
            )
        deployment.holds(how=how)


def _hung(deployment: Deployment, bad: dict[str, Hearing]) -> list[int]:
    """Waits until those that hang have had their time. Returns how long that was. A receiver that
    answers in the last moment is in time.
    """
    deployment.until(
        lambda: (
            all(bad[name].failures() for name in ("hang", "drip"))
            and bad["late"].outcomes()["delivered"]
        ),
        "15 s are over",
        60,
    )
    rows = bad["hang"].failures() + bad["drip"].failures()
    assert {row[:2] for row in rows} == {(None, "timeout")}
    took_ms = [row.took_ms for row in rows]
    assert 14_990 <= min(took_ms) <= max(took_ms) < 20_000
    assert 14_900 <= max(bad["late"].took_ms()) < 15_000
    return took_ms


def _mend(deployment: Deployment, good: Hearing, bad: dict[str, Hearing]) -> None:
    """Mends the receivers. Each gets everything, with the ids that it had; but the one that cannot
    be mended is disabled, and misses it.
    """
    for receiver in bad.values():
        receiver.mend()
    bad["bad TLS"].disable()
    deployment.settle()

    def is_over() -> bool:
        if not LONG:
            make_due(deployment)
        return not any(waiting(deployment, receiver) for receiver in (good, *bad.values()))

    deployment.until(is_over, f"all is told: {deployment.sender.log[-2_000:]}", 240)
    told = set(good.times)
    assert len(told) == events_stored(deployment) == 2 * len(deployment.clients.accepted)
    for name, receiver in bad.items():
        assert receiver.outcomes() == (
            {"missed": len(told)} if name == "bad TLS" else {"delivered": len(told)}
        ), name
        assert set(receiver.times) == (set() if name == "bad TLS" else told), name
        assert len(receiver.failures()) + len(told) >= receiver.times.total(), (
            f"{name} heard what was no attempt"
        )
    assert set(good.times.values()) == {1}


def _retried_ms(failed: Hearing) -> list[int]:
    """Returns the time from each first time that an event came to its second."""
    first: dict[str, int] = {}
    again: dict[str, int] = {}
    for event, at_ms in zip(failed.events, failed.at_ms, strict=True):
        if event["id"] in first:
            again.setdefault(event["id"], at_ms - first[event["id"]])
        first.setdefault(event["id"], at_ms)
    return list(again.values())


@pytest.mark.fault(26)
def test_what_a_killed_process_had_posted_comes_again_with_its_id(deployment: Deployment) -> None:
    """The process is killed under load, and each time while no POST is being answered."""
    deployment.env |= OPEN
    carrier = deployment.carrier(window=WINDOW)
    kills, beside = int(quick_or_long(1, 5)), LONG and deployment.kind == "postgresql"
    recovered_s = 0.0
    with hearing(deployment) as receiver:
        deployment.start()
        with deployment.clients.sending(per_second=20):
            for _ in range(kills):
                deployment.clients.wait_for(round(quick_or_long(10, 60)))
                doomed = deployment.sender
                if beside:
                    deployment.run("worker").wait_for_event("working", TAKEN_OVER_WITHIN_S)
                receiver.fault = FAULTS["hang"]
                before = len(receiver.events)
                deployment.until(lambda: receiver.unanswered >= 2, "POSTs are under way")
                doomed.process.kill()
                doomed.process.wait()
                killed_s = time.monotonic()
                under_way = {event["id"] for event in receiver.events[before:]}
                receiver.mend()
                if not beside:
                    deployment.run(doomed.name)
                deployment.until(
                    lambda ids=under_way: all(receiver.times[id_] > 1 for id_ in ids),  # type: ignore[misc]
                    "they come again",
                    TAKEN_OVER_WITHIN_S,
                )
                recovered_s = max(recovered_s, time.monotonic() - killed_s)
                deployment.age_doubts()
        deployment.settle_doubts()
        deployment.settle()
        deployment.until(
            lambda: all_told(deployment, receiver) and not waiting(deployment, receiver),
            f"all is told: {deployment.sender.log[-2_000:]}",
            120,
        )
        times = Counter(receiver.times.values())
        assert len(carrier.submits()) >= len(deployment.clients.accepted)
        assert max(times) <= 1 + kills
        again = sum((count - 1) * ids for count, ids in times.items())
        came_from = "a process that lived beside it" if beside else "a process started then"
        deployment.holds(
            repeated_max=kills * WINDOW,
            recovered_s=recovered_s,
            how=(
                f"{kills} kill -9 under load with POSTs under way: {events_stored(deployment):,}"
                f" events, each heard, {again} repeats, with the same id; until all that were"
                f" under way had come again, from {came_from}"
            ),
        )
