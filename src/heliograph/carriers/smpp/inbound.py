"""Counts and logs the texts that handsets send, as they come in."""

import logging
from typing import Final

from heliograph.base import metrics
from heliograph.base.limited_log import LineLimit
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.session_counters import SessionCounters

# of the log for one session: whoever sends texts to our numbers has them written
LINES_A_SECOND_MAX: Final = 5
SHORT_CODE_DIGITS_MAX: Final = 7  # longer ones may be somebody's phone number
_DIGITS_SHOWN: Final = 5  # country and network
_ADDRESS_OCTETS_MAX: Final = 21  # SMPP 3.4, 5.2.8: with its NUL

log = logging.getLogger(__name__)


class InboundTexts:
    """Counts and logs the texts that come in on one session. It never logs a text, and only the
    first digits of a phone number.
    """

    def __init__(self, carrier: str, tally: SessionCounters) -> None:
        self._carrier = carrier
        self._tally = tally
        self._counter = metrics.INBOUND.labels(carrier)
        self._few = LineLimit(LINES_A_SECOND_MAX)

    def note_text(self, message: pdu.ShortMessage) -> None:
        """Counts a text, and logs it unless this second has had its lines; the next line says how
        many were left out.
        """
        self._tally.mobile_originated += 1
        self._counter.inc()
        left_out = self._few.next()
        if left_out is None:
            return
        log.info(
            "inbound_text",
            extra={
                "carrier": self._carrier,
                "sender": mask_address(message.source_addr),
                "recipient": mask_address(message.destination_addr),
                "octets": len(message.short_message or message.tlvs.get(pdu.MESSAGE_PAYLOAD, b"")),
                **left_out,
            },
        )


def mask_address(address: str) -> str:
    """Returns a short code or a name as it is; of a phone number it shows the first five digits,
    and a star for each further one.
    """
    address = address[:_ADDRESS_OCTETS_MAX]
    if sum(character.isdigit() for character in address) <= SHORT_CODE_DIGITS_MAX:
        return address
    plus = address.startswith("+")
    visible = _DIGITS_SHOWN + plus
    return address[:visible] + "*" * (len(address) - visible)
