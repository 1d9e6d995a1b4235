"""Who has no key asks as fast as 50 connections can, and who has one is answered as before."""

from typing import Final

import pytest

from tests.faults.house import House
from tests.faults.matrix import quick_or_long
from tests.faults.strangers import asking

CONNECTIONS: Final = 50
ASKED_BEFORE: Final = 500  # answers to strangers, before the tenant begins: what is remembered of the configuration would be too old by then


@pytest.mark.fault(28)
def test_fifty_connections_that_ask_readyz_fail_nobody_else(house: House) -> None:
    """What strangers ask is computed once for all of them, and in threads that nobody who authenticates needs."""
    house.carrier()
    house.start()
    requests = int(quick_or_long(100, 1_000))
    with asking(house.api.address, "/readyz", CONNECTIONS) as asked:
        house.until(lambda: asked.total() >= ASKED_BEFORE, "strangers are answered")
        house.clients.send(requests)
    statuses = [reply.status for reply in house.clients.replies]
    took_ms = sorted(reply.took_s * 1_000 for reply in house.clients.replies)
    assert statuses == [200] * requests, f"{sum(status != 200 for status in statuses)} of {len(statuses)} were not answered 200"
    assert set(asked) == {200}, asked
    p99_ms = took_ms[len(took_ms) * 99 // 100 - 1]
    house.holds(how=f"{CONNECTIONS} connections ask /readyz all the while ({asked.total():,} answers): 0 of {requests:,} requests of a tenant 503; "
                    f"half of them within {took_ms[len(took_ms) // 2]:.0f} ms, 99 of 100 within {p99_ms:.0f} ms")
