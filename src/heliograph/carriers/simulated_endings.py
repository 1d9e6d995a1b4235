"""The recipient's last three digits decide what the simulators make of a submission (docs/api.md,
"Sandbox"). This is the one place for that table.

- …001 is refused at submit, with command_status 0x0B (invalid destination address).
- …000 is accepted; its receipt is UNDELIV.
- …002 is accepted; its receipt is EXPIRED.
- …003 is accepted; its receipt is DELIVRD, 30 s later than the others.
- Any other number is accepted; its receipt is DELIVRD.
"""

from typing import Final, NamedTuple

from heliograph.carriers.link import ReceiptState

LATE_S: Final = 30.0
DIGITS: Final = 3


class SimulatedEnding(NamedTuple):
    """Says how the simulator treats a submission to a number. `state` and `error` are those of the
    receipt, if the submission is accepted.
    """

    command_status: int  # of the answer to submit_sm; 0: accepted
    state: ReceiptState
    error: str
    is_late: bool  # its receipt comes LATE_S after the others


_DELIVERED: Final = SimulatedEnding(0, ReceiptState.DELIVRD, "000", is_late=False)
# with the errors that a network gives (3GPP TS 29.002, 17.6.6): unknown subscriber, absent
# subscriber
_ENDINGS: Final = {
    "000": SimulatedEnding(0, ReceiptState.UNDELIV, "001", is_late=False),
    # ESME_RINVDSTADR (SMPP 3.4, 5.1.3)
    "001": SimulatedEnding(0x0B, ReceiptState.REJECTD, "000", is_late=False),
    "002": SimulatedEnding(0, ReceiptState.EXPIRED, "027", is_late=False),
    "003": SimulatedEnding(0, ReceiptState.DELIVRD, "000", is_late=True),
}


def simulated_ending(recipient: str) -> SimulatedEnding:
    """Returns what becomes of a submission to a number in E.164 digits. It is hot."""
    return _ENDINGS.get(recipient[-DIGITS:], _DELIVERED)
