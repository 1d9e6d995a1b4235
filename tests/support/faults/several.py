"""Runs several processes of one carrier."""

from typing import Any

from tests.support.crash.processes import ServerProcess
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import Deployment

SERVE_IT = ("carrier", "run", "carrier")


def serving(
    deployment: Deployment, carrier: CarrierUnderTest, count: int = 1, **more: Any
) -> list[ServerProcess]:
    """Runs so many more processes of the carrier's own, one after the other, each bound."""
    started = []
    for _ in range(count):
        binds = len(carrier.events("bind"))
        started.append(deployment.run(*SERVE_IT, **more))
        carrier.wait_for("bind", binds + 1)
    return started
