"""A carrier refuses half of all for now: it is sent to more slowly, and everything arrives
(docs/reliability.md, row 15).
"""

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long

TPS = int(quick_or_long(60, 300))
COUNT = int(quick_or_long(130, 1_000))  # enough for more than three seconds at that rate
CHAOS = "throttle=0.3,queue-full=0.286"  # the first that hits counts: together half of all


@pytest.mark.fault(15)
def test_a_carrier_that_throttles_half_of_all_gets_them_more_slowly_and_each_once(
    deployment: Deployment,
) -> None:
    carrier = deployment.carrier("--chaos", CHAOS, tps=TPS)
    deployment.start()
    carrier.proxy.refuse()
    deployment.clients.send(COUNT)
    carrier.proxy.accept()
    deployment.settle(quick_or_long(60, 240))
    submits = carrier.submits(accepted=False)
    refused = [submit["status"] for submit in submits if submit["status"]]
    assert set(refused) == {0x58, 0x14}
    assert 0.35 < len(refused) / len(submits) < 0.65
    began_ms = submits[0]["at_ms"]
    first, third = (
        sum(second <= (submit["at_ms"] - began_ms) / 1_000 < second + 1 for submit in submits)
        for second in (0, 2)
    )
    assert third <= 0.9 * TPS, "the bind has not slowed down"
    deployment.holds(
        how=(
            f"{len(refused):,} of {len(submits):,} submit_sm refused (0x58, 0x14), at {TPS} a"
            f" second agreed: {first} in the first second, {third} in the third; all arrived"
            f" {(submits[-1]['at_ms'] - began_ms) / 1_000:.0f} s after the first"
        )
    )
