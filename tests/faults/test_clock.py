"""The machine's clock is moved by an hour, there and back, under running processes
(docs/reliability.md, row 12).
"""

from pathlib import Path
from typing import Final

import pytest

from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import Deployment
from tests.support.faults.validity import ELSEWHERE, HOUR_S, MESSAGES, VALIDITY_S, send_valid_for
from tests.support.services.faketime import fake_time

TRIED_AGAIN_AFTER_S: Final = 2.0  # a message that met a passing fault
# each first try meets a passing fault (system error)
# two would hear of a moved clock a second apart
ONE_OF_EACH: Final = {"sqlite": (("serve",),), "postgresql": (("api",), ("worker",))}
SCRIPT: Final = "\n".join(
    f"after {2 * MESSAGES * place} submits: refuse:0x08 for {MESSAGES}" for place in range(3)
)


@pytest.mark.fault(12)
def test_a_clock_that_is_moved_ends_nothing_early_and_hurries_nothing(
    deployment: Deployment, tmp_path: Path
) -> None:
    """The clock is the machine's, so it moves all at once for every process. Monotonic clocks go
    on, as the kernel's do.
    """
    clock = tmp_path / "clock"
    clock.write_text("+0")
    deployment.env |= fake_time(
        FAKETIME_TIMESTAMP_FILE=str(clock),
        FAKETIME_CACHE_DURATION="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    )
    carrier, away = (
        deployment.carrier(script=SCRIPT),
        deployment.carrier(name="away", prefix=ELSEWHERE),
    )
    away.proxy.refuse()
    deployment.start(ONE_OF_EACH[deployment.kind])
    send_valid_for(deployment, VALIDITY_S)
    waits_s = []
    for place, moved_s in enumerate((HOUR_S, -HOUR_S, 0)):
        deployment.clients.send(MESSAGES)
        carrier.wait_for("submit_sm", MESSAGES * (2 * place + 1))
        clock.write_text(f"{moved_s:+d}")
        # sweeps have come by meanwhile, once a second
        carrier.wait_for("submit_sm", MESSAGES * (2 * place + 2))
        waits_s += waits_of(carrier, place)
        assert deployment.count("failed") == 0
    assert min(waits_s) >= TRIED_AGAIN_AFTER_S - 0.1, waits_s
    assert "clock_moved" in deployment.sender.log
    away.proxy.accept()
    deployment.stop()
    # what starts now tries the carrier at once, which backed off until now
    deployment.start(ONE_OF_EACH[deployment.kind])
    deployment.holds(
        how=(
            f"an hour forward, an hour back, and right again; tries after {min(waits_s):.1f} to"
            f" {max(waits_s):.1f} s instead of 2"
        )
    )


def waits_of(carrier: CarrierUnderTest, place: int) -> list[float]:
    """Returns how long each of a round's messages waited for its second try, in seconds."""
    tries: dict[str, list[float]] = {}
    for submit in carrier.submits(accepted=False)[2 * MESSAGES * place :]:
        tries.setdefault(submit["recipient"], []).append(submit["at_ms"])
    # a busy machine may send the last message only when the first one is tried again
    return [(at_ms[1] - at_ms[0]) / 1_000 for at_ms in tries.values()]
