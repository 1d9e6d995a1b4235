"""A PostgreSQL falls silent under processes that send, while its connections stay open: they stop
in time, end in time, and go on when it is back.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from heliograph.database.leases import BEAT_S, LOOK_S, WRITE_S
from tests.support.crash.processes import ServerProcess
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import Deployment

WINDOW: Final = 10
BUSY_MACHINE_S: Final = 5.0
ENDED_WITHIN_S: Final = 30.0
BACK_WITHIN_S: Final = 60.0
NewDeployment = Callable[..., Deployment]


@contextmanager
def silent(
    new_deployment: NewDeployment,
) -> Iterator[tuple[Deployment, CarrierUnderTest, ServerProcess, Callable[[], None]]]:
    """Yields a deployment whose carrier process is under load when its database falls silent; and
    what ends the silence.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier(window=WINDOW)
    deployment.start((("api",), ("scheduler",)))
    proxy = deployment.database_proxy(for_all=False)
    sender = deployment.run("carrier", "run", "carrier", database=proxy)
    carrier.wait_for("bind", 1)

    def over() -> None:
        proxy.swallow_no_more()
        proxy.cut()

    with deployment.clients.sending(per_second=20):
        carrier.wait_for("submit_sm", 20)
        proxy.swallow("server", new_ones_too=True)
        yield deployment, carrier, sender, over


@pytest.mark.fault("4a")
@pytest.mark.long
def test_a_process_that_no_longer_hears_from_the_database_closes_its_binds(
    new_deployment: NewDeployment,
) -> None:
    with silent(new_deployment) as (deployment, carrier, _, over):
        closed_s = deployment.until(
            lambda: carrier.events("lost"), "the bind is closed", WRITE_S + BUSY_MACHINE_S
        )
        assert closed_s > WRITE_S - BEAT_S - LOOK_S, "it would be closed without cause"
        submitted = len(carrier.submits(accepted=False))
        time.sleep(2 * LOOK_S)
        assert len(carrier.submits(accepted=False)) == submitted
        over()
        recovered_s = deployment.until(
            lambda: len(carrier.submits()) > submitted + 20, "20 more submitted", BACK_WITHIN_S
        )
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=f"no answer, connections stay: the bind was closed after {closed_s:.0f} s; from "
        "the silence's end until 20 more were submitted",
    )


@pytest.mark.fault("4a")
@pytest.mark.long
def test_a_process_that_no_longer_hears_from_the_database_ends_when_told(
    new_deployment: NewDeployment,
) -> None:
    with silent(new_deployment) as (deployment, carrier, sender, over):
        began_s = time.monotonic()
        sender.process.terminate()
        sender.process.wait(ENDED_WITHIN_S + BUSY_MACHINE_S)
        ended_s = time.monotonic() - began_s
        assert carrier.events("lost")
        assert "Traceback" not in sender.log
        assert "SELECT" not in sender.log
        over()
        submitted = len(carrier.submits(accepted=False))
        deployment.run("carrier", "run", "carrier")
        recovered_s = deployment.until(
            lambda: len(carrier.submits()) > submitted + 20, "20 more submitted", BACK_WITHIN_S
        )
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=f"SIGTERM then: gone after {ended_s:.0f} s; from the start of another until it "
        "had submitted 20 more",
    )
