"""A carrier does not let us in: it is asked slowly, and the operator sees why (docs/reliability.md,
row 24).
"""

import json
import time
from typing import Any

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long

OTHERS = "23324"
SLOWLY_S = (30.0, 60.0)
QUEUED = 10


def shown(deployment: Deployment, name: str) -> dict[str, Any]:
    """Returns what `heliograph carrier list` says of the carrier."""
    return dict(
        next(
            carrier for carrier in deployment.command("carrier", "list") if carrier["name"] == name
        )
    )


@pytest.mark.fault(24)
def test_a_refused_bind_is_tried_slowly_and_shown(deployment: Deployment) -> None:
    password = deployment.directory / "password"
    password.write_text("another one\n")
    locked = deployment.carrier("--password-file", str(password), prefix="")
    believing = deployment.carrier(
        name="believing", prefix=OTHERS, script="after 0 binds: already-bound for 2"
    )
    deployment.start()
    deployment.clients.send(QUEUED)
    deployment.clients.send(QUEUED, prefix=OTHERS)
    deployment.until(
        lambda: shown(deployment, "carrier")["state"] == "refused", "the operator sees it"
    )
    assert "0x0000000e" in shown(deployment, "carrier")["state_detail"]
    deployment.until(
        lambda: shown(deployment, "believing")["state"] == "bound",
        "the other one is let in at last",
    )
    assert [event["status"] for event in believing.events("bind")] == [5, 5, 0]
    time.sleep(quick_or_long(2, 65))  # the fault is that time
    tries = [event["at_ms"] / 1_000 for event in locked.events("bind")]
    # two where the machine took half a minute for what is above
    assert len(tries) <= quick_or_long(2, 4)
    pauses = [
        json.loads(line)["again_s"]
        for line in deployment.sender.log.splitlines()
        if '"carrier_not_bound"' in line and "0x0000000e" in line
    ]
    assert pauses
    assert all(SLOWLY_S[0] <= pause <= SLOWLY_S[1] for pause in pauses)
    assert deployment.count("queued") == QUEUED
    deployment.command("carrier", "set", "carrier", "--password-file", str(password))
    mended_s = deployment.until(
        lambda: locked.events("bind")[-1]["status"] == 0,
        "let in once the operator has set the password",
    )
    again = ", ".join(f"{pause:.0f}" for pause in pauses)
    deployment.holds(
        recovered_s=mended_s,
        how=(
            f"0x0E: {len(tries)} tries, after each a pause of {again} s; 0x05: let in at the third"
            " try; both seen in `carrier list`; from `carrier set --password-file` to the bind"
        ),
    )
