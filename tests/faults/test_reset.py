"""A connection that breaks under a full window: nobody knows what the carrier has taken (promises, fault 16)."""

import pytest

from tests.faults.house import House

WINDOW = 10


@pytest.mark.fault(16)
def test_a_reset_with_a_full_window_loses_nothing_and_charges_once(house: House) -> None:
    carrier = house.carrier("--answer-delay-ms", "250", "--receipt-delay-ms", "1000", window=WINDOW)
    house.start()
    with house.clients.sending(per_second=50):
        house.until(lambda: carrier.waiting()[0] == WINDOW, "the window is full")
        binds = len(carrier.events("bind"))
        assert carrier.proxy.cut() == 1
        house.until(house.in_doubt, "its window is in doubt")
        recovered_s = house.until(lambda: len(carrier.events("bind")) > binds, "bound again")
        carrier.wait_for("submit_sm", 5 * WINDOW)
    house.holds(repeated_max=WINDOW, recovered_s=recovered_s, how="cut by the proxy; from RST to the next bind")
