"""A connection breaks under a full window: nobody knows what the carrier has taken
(docs/reliability.md, row 16).
"""

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG

WINDOW = 10


@pytest.mark.fault(16)
@pytest.mark.parametrize("lost", ["answers", "submissions"] if LONG else ["answers"])
def test_a_reset_with_a_full_window_loses_nothing_and_charges_once(
    deployment: Deployment, lost: str
) -> None:
    carrier = deployment.carrier(
        "--answer-delay-ms", "250", "--receipt-delay-ms", "1000", window=WINDOW
    )
    deployment.start()
    with deployment.clients.sending(per_second=50):
        if lost == "submissions":
            deployment.clients.wait_for(20)
            carrier.proxy.swallow("client")
        deployment.until(
            lambda: (
                (carrier.waiting()[0] if lost == "answers" else deployment.in_flight()) == WINDOW
            ),
            "the window is full",
        )
        binds = len(carrier.events("bind"))
        assert carrier.proxy.cut() == 1
        deployment.until(deployment.in_doubt, "its window is in doubt")
        recovered_s = deployment.until(lambda: len(carrier.events("bind")) > binds, "bound again")
        carrier.wait_for("submit_sm", 5 * WINDOW)
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=f"cut by the proxy, the window's {lost} lost; from RST to the next bind",
    )
