"""Several processes, and one connection after another, keep the rate that a carrier allows
(docs/reliability.md, row 5).
"""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.faults.several import serving

WINDOW = 10
# not bound for so long, then until all have heard of it; and a busy machine
WAIVED_WITHIN_S = 10.0 + 7.0 + 15.0


def busiest(times_ms: Sequence[int], within_ms: int) -> int:
    """Returns how many there were at most in so long a time."""
    first = worst = 0
    for place, at_ms in enumerate(times_ms):
        while at_ms - times_ms[first] >= within_ms:
            first += 1
        worst = max(worst, place - first + 1)
    return worst


@pytest.mark.fault(5)
def test_two_processes_on_one_carrier_send_each_message_once_and_keep_its_rate(
    new_deployment: Callable[..., Deployment],
) -> None:
    tps = 40
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier(window=WINDOW, tps=tps)
    deployment.start((("api",), ("scheduler",)))
    serving(deployment, carrier)
    with deployment.clients.sending(per_second=2 * tps):
        carrier.wait_for("submit_sm", 2 * tps)
        [second] = serving(deployment, carrier)
        joined_s = time.monotonic()
        sessions = [event["session"] for event in carrier.events("bind")]
        deployment.until(
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
    deployment.holds(
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
    new_deployment: Callable[..., Deployment],
) -> None:
    """If the rate is 1 a second, one of two processes has all of it, the older one. In this test it
    is the one that the carrier does not let in again.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier(
        window=WINDOW, tps=1, script="after 2 binds: already-bound for 1000"
    )
    deployment.start((("api",), ("scheduler",)))
    serving(deployment, carrier, 2)
    assert carrier.proxy.cut(oldest=1) == 1
    carrier.wait_for("bind", 3)
    deployment.clients.send(2)
    recovered_s = deployment.until(
        lambda: len(carrier.submits()) == 2,
        "both messages, from the younger process",
        WAIVED_WITHIN_S,
    )
    deployment.holds(
        repeated_max=0,
        recovered_s=recovered_s,
        how=(
            "1 submit_sm/s agreed, and the older of two processes is not let in; until two messages"
            " went out from the younger one"
        ),
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_changed_connection_keeps_the_rate(
    new_deployment: Callable[..., Deployment], kind: str
) -> None:
    """A new link follows the old one, which may have used up the second's rate: so it waits for a
    second, counted from the old one's last answer. How many arrived in a second says less: what
    stands still for a moment finds many at once.
    """
    deployment = new_deployment(kind)
    carrier = deployment.carrier(tps=(tps := 40), window=50)
    deployment.start((("serve",),))
    deployment.clients.send(count := 8 * tps)
    for window in (51, 52):
        # a slow machine takes long for a command
        carrier.wait_for("submit_sm", min(len(carrier.submits()) + tps, count))
        deployment.command("carrier", "set", "carrier", "--window", str(window))
        deployment.clients.send(3 * tps)  # however long it took, the new link has something to send
        count += 3 * tps
    deployment.settle()
    times_ms: dict[int, list[int]] = {}
    for event in carrier.events("submit_sm"):
        times_ms.setdefault(event["session"], []).append(event["at_ms"])
    links = [times_ms[session] for session in sorted(times_ms)]
    pauses_ms = [after[0] - before[-1] for before, after in pairwise(links)]
    assert pauses_ms
    assert min(pauses_ms) >= 990, pauses_ms  # two clocks, each read to the millisecond
    assert busiest(sorted(at_ms for link in links for at_ms in link), 5_000) <= 1.1 * 5 * tps
