"""A connection that breaks under a full window: nobody knows what the carrier has taken
(docs/reliability.md, row 16).
"""

import pytest

from tests.support.faults.house import House
from tests.support.faults.matrix import LONG

WINDOW = 10


@pytest.mark.fault(16)
@pytest.mark.parametrize("lost", ["answers", "submissions"] if LONG else ["answers"])
def test_a_reset_with_a_full_window_loses_nothing_and_charges_once(house: House, lost: str) -> None:
    carrier = house.carrier("--answer-delay-ms", "250", "--receipt-delay-ms", "1000", window=WINDOW)
    house.start()
    with house.clients.sending(per_second=50):
        if lost == "submissions":
            house.clients.wait_for(20)
            carrier.proxy.swallow("client")
        house.until(
            lambda: (carrier.waiting()[0] if lost == "answers" else house.in_flight()) == WINDOW,
            "the window is full",
        )
        binds = len(carrier.events("bind"))
        assert carrier.proxy.cut() == 1
        house.until(house.in_doubt, "its window is in doubt")
        recovered_s = house.until(lambda: len(carrier.events("bind")) > binds, "bound again")
        carrier.wait_for("submit_sm", 5 * WINDOW)
    house.settle_doubts()
    house.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=f"cut by the proxy, the window's {lost} lost; from RST to the next bind",
    )
