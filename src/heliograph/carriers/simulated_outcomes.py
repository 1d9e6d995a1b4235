"""What the simulators make of a submission, by its recipient's last three digits (docs/api.md,
"Sandbox"). The one place for that table.

| …001 | refused at submit, command_status 0x0B (invalid destination address) |
| …000 | accepted, receipt UNDELIV |
| …002 | accepted, receipt EXPIRED |
| …003 | accepted, receipt DELIVRD, 30 s later than the others |
| else | accepted, receipt DELIVRD |
"""

from typing import Final, NamedTuple

from heliograph.carriers.link import ReceiptState

LATE_S: Final = 30.0
DIGITS: Final = 3


class Ending(NamedTuple):
    """What a number stands for. `state` and `error` are the receipt's, of what is accepted."""

    command_status: int  # of the answer to submit_sm; 0: accepted
    state: ReceiptState
    error: str
    is_late: bool  # its receipt comes LATE_S after the others


_DELIVERED: Final = Ending(0, ReceiptState.DELIVRD, "000", is_late=False)
# with the errors that a network gives (3GPP TS 29.002, 17.6.6): unknown subscriber, absent
# subscriber
_ENDINGS: Final = {
    "000": Ending(0, ReceiptState.UNDELIV, "001", is_late=False),
    # ESME_RINVDSTADR (SMPP 3.4, 5.1.3)
    "001": Ending(0x0B, ReceiptState.REJECTD, "000", is_late=False),
    "002": Ending(0, ReceiptState.EXPIRED, "027", is_late=False),
    "003": Ending(0, ReceiptState.DELIVRD, "000", is_late=True),
}


def ending_of(recipient: str) -> Ending:
    """The ending of a number, E.164 digits. Hot."""
    return _ENDINGS.get(recipient[-DIGITS:], _DELIVERED)
