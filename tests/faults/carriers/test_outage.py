"""A carrier is away: it is down for a while, or no longer there without anybody saying so
(docs/reliability.md, rows 13 and 17).
"""

import json
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
import sqlalchemy as sa

from heliograph.messages.tables import queue
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.services.faketime import fake_time

WINDOW = 10
QUEUED = 60
BACKOFF_S = (1.0, 60.0)
FOUND_WITHIN_S = 40.0
FASTER = 60  # libfaketime's clock


def validities(deployment: Deployment) -> set[int]:
    with deployment.db.read() as tx:
        return set(tx.execute(sa.select(queue.c.expires_at_ms)).scalars())


def backoffs(deployment: Deployment) -> list[float]:
    """Returns how long each pause was before the carrier was tried again, in seconds, as the
    sender's log says.
    """
    lines = (
        json.loads(line)
        for line in deployment.sender.log.splitlines()
        if '"carrier_not_bound"' in line
    )
    return [line["again_s"] for line in lines]


def goes_down_and_comes_back(deployment: Deployment, down_s: float) -> tuple[list[float], float]:
    """Sends to a carrier before, while and after it is down. Returns the pauses, and how long after
    its return it was bound again.
    """
    carrier = deployment.carriers["carrier"]
    deployment.clients.send(QUEUED // 2)
    deployment.settle()
    binds = len(carrier.events("bind"))
    carrier.proxy.refuse()
    deployment.until(lambda: backoffs(deployment), "it is seen to be down")
    deployment.clients.send(QUEUED)
    kept = validities(deployment)
    time.sleep(down_s)  # the fault is that time
    assert (deployment.count("queued"), validities(deployment)) == (QUEUED, kept)
    carrier.proxy.accept()
    back_s = deployment.until(
        lambda: len(carrier.events("bind")) > binds, "bound again", BACKOFF_S[1] + 10
    )
    return backoffs(deployment), back_s


@pytest.mark.fault(13)
def test_while_the_smsc_is_down_nothing_is_dropped(deployment: Deployment) -> None:
    deployment.carrier(window=WINDOW)
    deployment.start()
    down_s = quick_or_long(4, 80)
    pauses, back_s = goes_down_and_comes_back(deployment, down_s)
    assert len(pauses) >= 2
    for earlier, later in pairwise(pauses):
        assert BACKOFF_S[0] <= earlier <= BACKOFF_S[1]
        assert later >= earlier / 2 or later >= BACKOFF_S[1] / 2
    deployment.holds(
        recovered_s=back_s,
        how=(
            f"connections refused for {down_s:.0f} s, {QUEUED} messages accepted meanwhile; tries"
            f" after {', '.join(f'{pause:.1f}' for pause in pauses)} s; from its return to the bind"
        ),
    )


@pytest.mark.long
@pytest.mark.fault(13)
def test_half_an_hour_of_outage_by_a_clock_that_runs_faster(
    new_deployment: Callable[[str], Deployment],
) -> None:
    # one process, for each has a clock of its own; and no server whose clock is not faked
    deployment = new_deployment("sqlite")
    deployment.carrier(window=WINDOW)
    deployment.env |= fake_time(FAKETIME=f"+0 x{FASTER}")
    deployment.start()
    pauses, back_s = goes_down_and_comes_back(deployment, 30 * 60 / FASTER)
    assert len(pauses) > 20
    settled = pauses[8:]
    assert BACKOFF_S[1] / 2 <= min(settled) < max(settled) <= BACKOFF_S[1]
    # jitter: all carriers' clients would come back at once
    assert len(set(settled)) > len(settled) / 2
    deployment.holds(
        recovered_s=back_s * FASTER,
        how=(
            f"30 min by the process's clock, which libfaketime runs {FASTER} times as fast; "
            f"{len(pauses)} tries, the later ones after {min(settled):.0f} to {max(settled):.0f} s"
        ),
    )


@pytest.mark.fault(17)
def test_a_half_open_connection_is_found_and_bound_anew(deployment: Deployment) -> None:
    # 15, 10: the defaults
    carrier = deployment.carrier(
        window=WINDOW,
        enquire_link_s=quick_or_long(2, 15),
        enquire_link_timeout_s=quick_or_long(1, 10),
    )
    deployment.start()
    with deployment.clients.sending(per_second=40):
        deployment.clients.wait_for(20)
        carrier.proxy.swallow()
        found_s = deployment.until(
            lambda: carrier.proxy.connected > 1, "a new connection", FOUND_WITHIN_S
        )
        assert found_s < quick_or_long(FOUND_WITHIN_S / 2, FOUND_WITHIN_S)
        carrier.wait_for("bind", 2)
        deployment.clients.wait_for(10)
    deployment.until(
        lambda: deployment.count("queued") == deployment.in_doubt(), "all that waited is sent"
    )
    deployment.settle_doubts()
    pulse_said = (
        "15 s of silence and 10 s for enquire_link"
        if LONG
        else "2 s and 1 s instead of 15 s and 10 s"
    )
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=found_s,
        how=f"both directions swallowed by the proxy; until it connects anew; {pulse_said}",
    )
