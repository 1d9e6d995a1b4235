"""Some carriers are slow to answer: the window holds, others do not wait, and what answers too late
is adopted (docs/reliability.md, rows 14 and 18).
"""

import time
from collections.abc import Callable
from statistics import median

import pytest
import sqlalchemy as sa

from heliograph.database.leases import workers
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long

OTHERS = "23324"  # numbers of the other carrier
PROBES = 15
UNAFFECTED_S = 1.0  # of the other carrier's median; a busy machine takes its time
ENDED_WITHIN_S = 30.0


def seconds_to_the_wire(deployment: Deployment) -> float:
    """Returns how long single messages take to the other carrier, from request to submit_sm: their
    median.
    """
    seconds = []
    other = deployment.carriers["other"]
    for _ in range(PROBES):
        taken = len(other.events("submit_sm"))
        began_s = time.monotonic()
        deployment.clients.send(1, prefix=OTHERS)
        other.wait_for("submit_sm", taken + 1)
        seconds.append(time.monotonic() - began_s)
    return median(seconds)


@pytest.mark.fault(14)
def test_a_carrier_that_answers_after_30_s_holds_up_nobody_else(deployment: Deployment) -> None:
    window, answers_s = 5, quick_or_long(3, 30)
    slow = deployment.carrier("--answer-delay-ms", f"{answers_s * 1000:.0f}", window=window)
    deployment.carrier(name="other", prefix=OTHERS)
    deployment.start()
    alone_s = seconds_to_the_wire(deployment)
    deployment.clients.send(2 * window)
    deployment.until(lambda: slow.waiting()[0] == window, "its window is full")
    beside_s = seconds_to_the_wire(deployment)
    assert slow.waiting()[0] == window
    assert beside_s < UNAFFECTED_S
    deployment.settle()
    assert slow.waiting()[1] == window
    deployment.holds(
        how=(
            f"answers after {answers_s:.0f} s, window {window}: never more on the wire; beside it"
            f" another carrier's single messages took {beside_s * 1000:.0f} ms from request to"
            f" submit_sm, without it {alone_s * 1000:.0f} ms (medians of {PROBES})"
        )
    )


def test_a_window_whose_answers_take_20_s_is_finished_when_its_process_is_told_to_end(
    new_deployment: Callable[[str], Deployment],
) -> None:
    deployment, window = new_deployment("postgresql"), 5
    carrier = deployment.carrier("--answer-delay-ms", "20000", window=window)
    deployment.start([("api",), ("scheduler",), ("carrier", "run", "carrier")])
    carrier.wait_for("bind", 1)
    deployment.clients.send(window)
    carrier.wait_for("submit_sm", window)
    time.sleep(1.5)  # so long are they on the wire already
    began_s = time.monotonic()
    deployment.sender.process.terminate()
    beat = beats(deployment)
    deployment.until(
        lambda: beats(deployment) >= beat + 2,
        "it shows that it lives, or what it waits for would be taken for in doubt",
    )
    assert deployment.sender.process.wait(ENDED_WITHIN_S) == 0
    assert time.monotonic() - began_s < ENDED_WITHIN_S
    assert (
        len(carrier.events("answer"))
        == deployment.count("sent") + deployment.count("delivered")
        == window
    )
    assert deployment.in_flight() == deployment.in_doubt() == 0


def beats(deployment: Deployment) -> int:
    with deployment.db.read() as tx:
        return int(
            tx.execute(sa.select(workers.c.beat).where(workers.c.kind == "carrier")).scalar_one()
        )


@pytest.mark.fault(18)
def test_an_answer_after_our_timeout_is_adopted(deployment: Deployment) -> None:
    timeout_s = quick_or_long(1, 30)
    answers_ms, receipts_ms = (f"{(timeout_s + more_s) * 1000:.0f}" for more_s in (1.5, 3))
    carrier = deployment.carrier(
        "--answer-delay-ms",
        answers_ms,
        "--receipt-delay-ms",
        receipts_ms,
        answer_timeout_s=timeout_s,
    )
    deployment.start()
    deployment.clients.send(10)
    deployment.until(lambda: deployment.in_doubt() == 10, "in doubt", timeout_s + 40)
    deployment.until(
        lambda: deployment.count("sent") == 10, "adopted by their answers, before any receipt"
    )
    assert (deployment.in_doubt(), carrier.repeated()) == (0, 0)
    deployment.settle()
    deployment.clients.send(5)  # and such as were sent once more before their answer came
    deployment.until(lambda: deployment.in_doubt() == 5, "in doubt", timeout_s + 40)
    deployment.age_doubts()
    carrier.wait_for("submit_sm", 20)
    deployment.settle(60 + timeout_s)
    deployment.holds(
        repeated_max=5,
        how=(
            f"answers {answers_ms} ms after submit_sm, our timeout {timeout_s:.0f} s: 10 adopted by"
            " them alone; 5 that were sent once more meanwhile, as after 120 s of doubt, went"
            " twice and were charged once"
        ),
    )
    assert carrier.repeated() == 5


@pytest.mark.fault("14a")
def test_a_window_of_10_and_answers_after_50_ms_are_used_to_the_full(
    deployment: Deployment,
) -> None:
    window, answers_s, count = 10, 0.05, int(quick_or_long(300, 3_000))
    carrier = deployment.carrier("--answer-delay-ms", "50", "--window", str(window), window=window)
    deployment.start()
    carrier.proxy.refuse()
    deployment.clients.send(count)
    carrier.proxy.accept()
    deployment.settle(60 + count / 20)
    submits = carrier.submits(accepted=False)
    per_second = (count - window) / (submits[-1]["at_ms"] - submits[0]["at_ms"]) * 1_000
    # the SMSC throttles what exceeds its window
    assert {submit["status"] for submit in submits} == {0}
    assert carrier.waiting()[1] == window
    most = window / answers_s
    assert per_second > most / 2
    deployment.holds(
        how=(
            f"{per_second:.0f} submit_sm a second of {most:.0f} that such a window allows; the"
            f" SMSC's own window of {window} never exceeded"
        )
    )
