"""The few PDUs of SMPP 3.4 that a benchmark needs are coded by hand, for speed. Their numbers and
layouts are in SMPP 3.4, sections 4 and 5.1.2.
"""

import struct
from typing import Final

# command_length, command_id, command_status, sequence_number
HEADER: Final = struct.Struct(">IIII")
HEADER_OCTETS: Final = 16
PDU_OCTETS_MAX: Final = 65_536  # what is longer is no PDU that a benchmark sends

BIND_RECEIVER: Final = 0x1
BIND_TRANSMITTER: Final = 0x2
SUBMIT_SM: Final = 0x4
DELIVER_SM: Final = 0x5
UNBIND: Final = 0x6
BIND_TRANSCEIVER: Final = 0x9
ENQUIRE_LINK: Final = 0x15
RESPONSE: Final = 0x80000000
GENERIC_NACK: Final = 0x80000000
RINVCMDID: Final = 0x3

BINDS: Final = frozenset({BIND_RECEIVER, BIND_TRANSMITTER, BIND_TRANSCEIVER})

_TLV_RECEIPTED_MESSAGE_ID: Final = 0x001E
_TLV_MESSAGE_STATE_DELIVERED: Final = b"\x04\x27\x00\x01\x02"


def pdu(command_id: int, sequence: int, body: bytes = b"", status: int = 0) -> bytes:
    """Returns a whole PDU: header and body."""
    return HEADER.pack(HEADER_OCTETS + len(body), command_id, status, sequence) + body


def submission_fields(
    body: bytes | bytearray | memoryview, at: int
) -> tuple[bytes, bytes, int, bytes]:
    """Returns source_addr, destination_addr, registered_delivery and short_message of the submit_sm
    whose body begins at `at` (SMPP 3.4, 4.4.1).

    Raises ValueError or IndexError when a field has no end.
    """
    octets = bytes(body)
    end = octets.index(0, at)  # service_type
    at = end + 3  # over source_addr_ton, source_addr_npi
    end = octets.index(0, at)
    source = octets[at:end]
    at = end + 3
    end = octets.index(0, at)
    destination = octets[at:end]
    at = end + 4  # over esm_class, protocol_id, priority_flag
    at = octets.index(0, at) + 1  # schedule_delivery_time
    at = octets.index(0, at) + 1  # validity_period
    length = octets[at + 4]
    return source, destination, octets[at], octets[at + 5 : at + 5 + length]


def receipt_body(source: bytes, destination: bytes, message_id: bytes, at: bytes) -> bytes:
    """Returns a deliver_sm body that reports DELIVRD, in text and in TLVs (SMPP 3.4, appendix B and
    5.3.2.12).

    `source` and `destination` are those of the submit_sm; `at` is the time as ten digits,
    YYMMDDhhmm.
    """
    text = b"id:%b sub:001 dlvrd:001 submit date:%b done date:%b stat:DELIVRD err:000 text:" % (
        message_id,
        at,
        at,
    )
    length = len(message_id) + 1
    return (
        b"\0\1\1%b\0\1\1%b\0\x04\0\0\0\0\0\0\0\0%c%b" % (destination, source, len(text), text)
        + struct.pack(">HH", _TLV_RECEIPTED_MESSAGE_ID, length)
        + message_id
        + b"\0"
        + _TLV_MESSAGE_STATE_DELIVERED
    )
