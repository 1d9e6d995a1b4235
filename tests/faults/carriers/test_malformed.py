"""A carrier says what is not a PDU: it is told so or left, memory stays flat, and others notice
nothing (docs/reliability.md, row 23).
"""

from collections import Counter

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.memory import peak_mb

LENGTHS = ("length-0", "length-15", "length-2g")  # after these nothing can be read any more
READABLE = ("tlv", "command")
OTHERS = "23324"
GROWTH_MAX_MB = 32  # a PDU of 2^31 octets that was waited for, or kept, would be 2,048
WINDOW = 10


@pytest.mark.fault(23)
def test_malformed_pdus_end_their_connection_at_most(deployment: Deployment) -> None:
    # each impossible length ends a session: the next pause is longer
    rounds, everywhere = int(quick_or_long(1, 2)), quick_or_long(0, 0.1)
    script = [
        f"after {10 + 20 * number} submits: malformed:{form}"
        for number, form in enumerate((*READABLE, *LENGTHS) * rounds)
    ]
    carrier = deployment.carrier(
        "--chaos",
        ",".join(f"malformed:{form}={everywhere}" for form in READABLE),
        script="\n".join(script),
        window=WINDOW,
    )
    other = deployment.carrier(name="other", prefix=OTHERS)
    deployment.start()
    deployment.clients.send(5)
    deployment.clients.send(5, prefix=OTHERS)
    deployment.settle()
    before_mb = peak_mb(deployment.sender.process.pid)
    with (
        deployment.clients.sending(per_second=40),
        deployment.clients.sending(per_second=10, prefix=OTHERS),
    ):
        carrier.wait_for("lost", len(LENGTHS) * rounds, 120)
        recovered_s = deployment.until(lambda: carrier.proxy.open, "bound again")
    deployment.settle_doubts()
    grown_mb = peak_mb(deployment.sender.process.pid) - before_mb
    malformed = Counter(event["form"] for event in carrier.events("malformed"))
    nacked = Counter(event["status"] for event in carrier.events("nacked"))
    assert set(malformed) == {*READABLE, *LENGTHS}
    assert nacked == {
        0xC0: malformed["tlv"],
        0x03: malformed["command"],
        0x02: len(LENGTHS) * rounds,
    }
    assert len(carrier.events("lost")) == len(LENGTHS) * rounds
    assert (other.proxy.connected, other.events("lost", "nacked")) == (1, [])
    assert len(other.submits()) > 10
    assert grown_mb < GROWTH_MAX_MB
    deployment.holds(
        repeated_max=WINDOW * len(LENGTHS) * rounds,
        recovered_s=recovered_s,
        how=(
            f"{malformed.total()} in all: {len(LENGTHS) * rounds} lengths nacked and closed, the"
            f" others nacked; the sending process grew by {grown_mb:.0f} MB at its peak; the other"
            f" carrier's {len(other.submits())} messages went over one connection; from the last"
            " loss to the bind"
        ),
    )
