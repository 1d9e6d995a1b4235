"""Finds mistakes in a submit_sm that can be decoded, and the command_status with which an SMSC
refuses them.
"""

import re
from datetime import UTC, datetime
from typing import Final

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc.journal_entry import SAR, message_part_of

ADDRESS_CHARACTERS_MAX: Final = 20  # SMPP 3.4, 4.4.1: 21 octets with the NUL
PRIORITY_MAX: Final = 3  # SMPP 3.4, 5.2.14
# SMPP 3.4, 7.1.1: how far a local time is from UTC, in quarters of an hour
QUARTERS_MAX: Final = 48

# SMPP 3.4, table 5-2
ESME_RINVPRTFLG: Final = 0x06
ESME_RINVSRCADR: Final = 0x0A
ESME_RINVDSTADR: Final = 0x0B
ESME_RSUBMITFAIL: Final = 0x45
ESME_RINVSCHED: Final = 0x61
ESME_RINVEXPIRY: Final = 0x62

_RECIPIENT: Final = re.compile(f"[0-9]{{1,{ADDRESS_CHARACTERS_MAX}}}")
_ABSOLUTE: Final = re.compile("([0-9]{12})[0-9]([0-9]{2})[+-]")
_RELATIVE: Final = re.compile(
    "[0-9]{2}(0[0-9]|1[0-2])([0-2][0-9]|3[01])([01][0-9]|2[0-3])([0-5][0-9]){2}000R"
)


def mistake_in(message: pdu.ShortMessage) -> int:
    """Returns the command_status of the first mistake, or ESME_ROK when there is none. It is
    hot.
    """
    if _RECIPIENT.fullmatch(message.destination_addr) is None:
        return ESME_RINVDSTADR
    if len(message.source_addr) > ADDRESS_CHARACTERS_MAX:
        return ESME_RINVSRCADR
    if message.priority_flag > PRIORITY_MAX:
        return ESME_RINVPRTFLG
    if message.schedule_delivery_time and not _is_time(message.schedule_delivery_time):
        return ESME_RINVSCHED
    if message.validity_period and not _is_time(message.validity_period):
        return ESME_RINVEXPIRY
    # SMPP 3.4, 5.3.2.32: never both
    if message.short_message and pdu.MESSAGE_PAYLOAD in message.tlvs:
        return pdu.ESME_RINVMSGLEN
    if not (_has_its_header(message) and _is_a_part(message)):
        return ESME_RSUBMITFAIL  # table 5-2 has nothing closer
    return pdu.ESME_ROK


def _is_time(text: str) -> bool:
    """Returns whether this is a point of time, `YYMMDDhhmmsstnnp`, or a span from now,
    `YYMMDDhhmmss000R` (SMPP 3.4, 7.1.1).
    """
    if _RELATIVE.fullmatch(text):
        return True
    absolute = _ABSOLUTE.fullmatch(text)
    if absolute is None or int(absolute[2]) > QUARTERS_MAX:
        return False
    year, month, day, hour, minute, second = (
        int(absolute[1][at : at + 2]) for at in range(0, 12, 2)
    )
    try:
        datetime(2000 + year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:  # no such day or time
        return False
    return True


def _has_its_header(message: pdu.ShortMessage) -> bool:
    """Returns whether the user data header that a message says it has is whole."""
    if not message.esm_class & pdu.ESM_UDH:
        return True
    octets = message.tlvs.get(pdu.MESSAGE_PAYLOAD, message.short_message)
    return bool(octets) and octets[0] < len(octets)


def _is_a_part(message: pdu.ShortMessage) -> bool:
    """Returns whether a message can be the part of a long message that it says it is: it has all
    three sar_* TLVs or none of them, and 1 ≤ part ≤ total.
    """
    sar = [message.tlvs[tag] for tag in SAR if tag in message.tlvs] if message.tlvs else []
    if sar and not (
        len(sar) == len(SAR)
        and all(sar)
        and 1 <= int.from_bytes(sar[2], "big") <= int.from_bytes(sar[1], "big")
    ):
        return False
    long, _ = message_part_of(message)
    return 1 <= long.part <= long.parts
