"""Encodes PDUs of SMPP 3.4 to octets, and decodes them.

It has only what an SMS service needs of the protocol: bind, submit_sm, deliver_sm, unbind,
enquire_link, generic_nack and TLVs, both directions of each, and data_sm as carriers send it.
Nothing here raises anything but `PduError`, whatever octets come in.
"""

from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError  # noqa: N812  # the struct module's name is no class name
from typing import Final, NamedTuple

import msgspec

# command_id values (SMPP 3.4, table 5-1); a response is its request with bit 31 set
GENERIC_NACK: Final = 0x80000000
BIND_RECEIVER: Final = 0x00000001
BIND_TRANSMITTER: Final = 0x00000002
SUBMIT_SM: Final = 0x00000004
DELIVER_SM: Final = 0x00000005
UNBIND: Final = 0x00000006
BIND_TRANSCEIVER: Final = 0x00000009
ENQUIRE_LINK: Final = 0x00000015
ALERT_NOTIFICATION: Final = 0x00000102
DATA_SM: Final = 0x00000103
RESPONSE: Final = 0x80000000
SUBMIT_SM_RESP: Final = SUBMIT_SM | RESPONSE
DELIVER_SM_RESP: Final = DELIVER_SM | RESPONSE
UNBIND_RESP: Final = UNBIND | RESPONSE
ENQUIRE_LINK_RESP: Final = ENQUIRE_LINK | RESPONSE
DATA_SM_RESP: Final = DATA_SM | RESPONSE

_NAMES: Final = {
    BIND_RECEIVER: "bind_receiver",
    BIND_TRANSMITTER: "bind_transmitter",
    SUBMIT_SM: "submit_sm",
    DELIVER_SM: "deliver_sm",
    UNBIND: "unbind",
    BIND_TRANSCEIVER: "bind_transceiver",
    ENQUIRE_LINK: "enquire_link",
    ALERT_NOTIFICATION: "alert_notification",
    DATA_SM: "data_sm",
}

# command_status values that this side itself sends (SMPP 3.4, table 5-2)
ESME_ROK: Final = 0x00000000
ESME_RINVMSGLEN: Final = 0x00000001
ESME_RINVCMDLEN: Final = 0x00000002
ESME_RINVCMDID: Final = 0x00000003
ESME_RX_T_APPN: Final = 0x00000064  # a temporary error: the carrier sends the PDU again
ESME_RINVTLVSTREAM: Final = 0x000000C0
ESME_RUNKNOWNERR: Final = 0x000000FF

# TLV tags (SMPP 3.4, table 5-7)
RECEIPTED_MESSAGE_ID: Final = 0x001E
USER_MESSAGE_REFERENCE: Final = 0x0204
SAR_MSG_REF_NUM: Final = 0x020C
SAR_TOTAL_SEGMENTS: Final = 0x020E
SAR_SEGMENT_SEQNUM: Final = 0x020F
SC_INTERFACE_VERSION: Final = 0x0210
NETWORK_ERROR_CODE: Final = 0x0423
MESSAGE_PAYLOAD: Final = 0x0424
MESSAGE_STATE: Final = 0x0427

# esm_class (SMPP 3.4, 5.2.12)
ESM_UDH: Final = 0x40
ESM_TYPE: Final = 0x3C  # the bits that say what kind of message a deliver_sm is
ESM_RECEIPT: Final = 0x04
ESM_INTERMEDIATE: Final = 0x20

INTERFACE_VERSION: Final = 0x34
SEQUENCE_MAX: Final = 0x7FFFFFFF  # SMPP 3.4, 3.2
SHORT_MESSAGE_OCTETS_MAX: Final = 254  # SMPP 3.4, 5.2.22; longer ones travel in message_payload
HEADER_OCTETS: Final = 16

HEADER: Final = Struct(">IIII")  # command_length, command_id, command_status, sequence_number
_TLV_HEAD: Final = Struct(">HH")
# registered_delivery, replace_if_present_flag, data_coding, sm_default_msg_id, sm_length
_FLAGS: Final = Struct(">BBBBB")


class PduError(Exception):
    """The octets are not a valid PDU. `status` is the command_status to answer them with."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ShortMessage(msgspec.Struct):
    """Holds the body of a submit_sm or a deliver_sm, which have one layout (SMPP 3.4, 4.4.1 and
    4.6.1). Strings are Latin-1.
    """

    source_addr: str = ""
    destination_addr: str = ""
    short_message: bytes = b""
    esm_class: int = 0
    data_coding: int = 0
    registered_delivery: int = 0
    priority_flag: int = 0
    validity_period: str = ""
    source_ton: int = 0
    source_npi: int = 0
    dest_ton: int = 0
    dest_npi: int = 0
    service_type: str = ""
    protocol_id: int = 0
    schedule_delivery_time: str = ""
    replace_if_present: int = 0
    sm_default_msg_id: int = 0
    tlvs: dict[int, bytes] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BindRequest:
    """Holds the body of a bind_receiver, bind_transmitter or bind_transceiver (SMPP 3.4, 4.1)."""

    system_id: str
    password: str = field(repr=False)
    system_type: str = ""
    interface_version: int = INTERFACE_VERSION
    addr_ton: int = 0
    addr_npi: int = 0
    address_range: str = ""


def command_name(command: int) -> str:
    """Returns a command's name, such as `submit_sm_resp` for 0x80000004; for an unknown one, its
    hexadecimal number.
    """
    if command == GENERIC_NACK:
        return "generic_nack"
    name = _NAMES.get(command & ~RESPONSE)
    if name is None:
        return f"0x{command:08x}"
    return f"{name}_resp" if command & RESPONSE else name


def encode_pdu(command: int, status: int, sequence: int, body: bytes = b"") -> bytes:
    """Returns a whole PDU, made from the fields of its header and an encoded body."""
    return HEADER.pack(HEADER_OCTETS + len(body), command, status, sequence) + body


class SourceAddress(NamedTuple):
    """Holds a source_addr with its type of number and numbering plan."""

    ton: int
    npi: int
    address: str


def encode_addresses(
    service_type: str, source: SourceAddress, destination: tuple[int, int]
) -> bytes:
    """Returns the front of a submit_sm body up to dest_addr_npi. It is the same for every message
    of one sender, so it is worth keeping. `destination` is (TON, NPI).
    """
    return b"%b\0%c%c%b\0%c%c" % (
        service_type.encode("latin-1"),
        source.ton,
        source.npi,
        source.address.encode("latin-1"),
        *destination,
    )


def encode_body(
    addresses: bytes,
    destination_addr: bytes,
    esm_class: int,
    priority_flag: int,
    validity_period: bytes,
    registered_delivery: int,
    data_coding: int,
    short_message: bytes,
    tlvs: bytes,
) -> bytes:
    """Encodes the body of a submit_sm or deliver_sm, with its fields as they usually are:
    protocol_id 0, sent at once, nothing replaced. It is hot.
    """
    return b"%b%b\0%c\0%c\0%b\0%c\0%c\0%c%b%b" % (
        addresses,
        destination_addr,
        esm_class,
        priority_flag,
        validity_period,
        registered_delivery,
        data_coding,
        len(short_message),
        short_message,
        tlvs,
    )


def encode_sm(message: ShortMessage) -> bytes:
    """Returns a submit_sm or deliver_sm body with every field as given. `short_message` has at
    most 254 octets.
    """
    return b"".join(
        (
            encode_addresses(
                message.service_type,
                SourceAddress(message.source_ton, message.source_npi, message.source_addr),
                (message.dest_ton, message.dest_npi),
            ),
            message.destination_addr.encode("latin-1"),
            bytes((0, message.esm_class, message.protocol_id, message.priority_flag)),
            message.schedule_delivery_time.encode("latin-1"),
            b"\0",
            message.validity_period.encode("latin-1"),
            b"\0",
            _FLAGS.pack(
                message.registered_delivery,
                message.replace_if_present,
                message.data_coding,
                message.sm_default_msg_id,
                len(message.short_message),
            ),
            message.short_message,
            *(encode_tlv(tag, value) for tag, value in message.tlvs.items()),
        )
    )


def decode_sm(body: bytes) -> ShortMessage:
    """Returns the fields of a submit_sm or deliver_sm body. Raises PduError when a NUL is
    missing, the body is too short or a TLV is broken. It is hot.
    """
    find = body.index
    try:
        service_end = find(0)
        source_end = find(0, service_end + 3)
        destination_end = find(0, source_end + 3)
        schedule_end = find(0, destination_end + 4)
        validity_end = find(0, schedule_end + 1)
        registered, replace, coding, default_id, length = _FLAGS.unpack_from(body, validity_end + 1)
    except (ValueError, StructError):
        raise PduError(ESME_RINVCMDLEN, "the body ends inside a mandatory field") from None
    start = validity_end + 6
    end = start + length
    if end > len(body):
        raise PduError(ESME_RINVMSGLEN, f"sm_length {length} reaches beyond the PDU")
    return ShortMessage(
        body[service_end + 3 : source_end].decode("latin-1"),
        body[source_end + 3 : destination_end].decode("latin-1"),
        body[start:end],
        esm_class=body[destination_end + 1],
        data_coding=coding,
        registered_delivery=registered,
        priority_flag=body[destination_end + 3],
        validity_period=body[schedule_end + 1 : validity_end].decode("latin-1"),
        source_ton=body[service_end + 1],
        source_npi=body[service_end + 2],
        dest_ton=body[source_end + 1],
        dest_npi=body[source_end + 2],
        service_type=body[:service_end].decode("latin-1"),
        protocol_id=body[destination_end + 2],
        schedule_delivery_time=body[destination_end + 4 : schedule_end].decode("latin-1"),
        replace_if_present=replace,
        sm_default_msg_id=default_id,
        tlvs=decode_tlvs(body, end),
    )


def decode_data_sm(body: bytes) -> ShortMessage:
    """Decodes the fields of a data_sm body (SMPP 3.4, 4.7.1), whose text is its message_payload.
    Raises PduError as decode_sm does.
    """
    try:
        service_end = body.index(0)
        source_end = body.index(0, service_end + 3)
        destination_end = body.index(0, source_end + 3)
        esm_class, registered, coding = body[destination_end + 1 : destination_end + 4]
    except ValueError:
        raise PduError(ESME_RINVCMDLEN, "the body ends inside a mandatory field") from None
    return ShortMessage(
        body[service_end + 3 : source_end].decode("latin-1"),
        body[source_end + 3 : destination_end].decode("latin-1"),
        esm_class=esm_class,
        data_coding=coding,
        registered_delivery=registered,
        tlvs=decode_tlvs(body, destination_end + 4),
    )


def encode_data_sm(
    addresses: bytes, destination_addr: bytes, data_coding: int, tlvs: bytes
) -> bytes:
    """Encodes the body of a data_sm (SMPP 3.4, 4.7.1) that asks for no receipt. `addresses` is what
    `encode_addresses` returned; the text is a message_payload among the TLVs.
    """
    return b"%b%b\0\0\0%c%b" % (addresses, destination_addr, data_coding, tlvs)


def encode_tlv(tag: int, value: bytes) -> bytes:
    """Encodes an optional parameter: its tag, its length and its value (SMPP 3.4, 3.2.4.1)."""
    return _TLV_HEAD.pack(tag, len(value)) + value


def decode_tlvs(body: bytes, at: int) -> dict[int, bytes]:
    """Returns the TLVs from offset `at` on, by tag. Of a tag that is repeated, the first one
    counts. Raises PduError when a length reaches beyond the PDU.
    """
    tlvs: dict[int, bytes] = {}
    end = len(body)
    while end - at >= 4:  # fewer octets hold no TLV: some centres pad with NULs
        tag, length = _TLV_HEAD.unpack_from(body, at)
        at += 4 + length
        if at > end:
            raise PduError(ESME_RINVTLVSTREAM, f"TLV 0x{tag:04x} reaches beyond the PDU")
        tlvs.setdefault(tag, body[at - length : at])
    return tlvs


def encode_bind(bind: BindRequest) -> bytes:
    """Encodes the body of a bind_receiver, bind_transmitter or bind_transceiver (SMPP 3.4, 4.1)."""
    return b"%b\0%b\0%b\0%c%c%c%b\0" % (
        bind.system_id.encode("latin-1"),
        bind.password.encode("latin-1"),
        bind.system_type.encode("latin-1"),
        bind.interface_version,
        bind.addr_ton,
        bind.addr_npi,
        bind.address_range.encode("latin-1"),
    )


def decode_bind(body: bytes) -> BindRequest:
    """Returns the fields of a bind request. Raises PduError when one is missing."""
    *strings, rest = body.split(b"\0", 3)
    if len(strings) < 3 or len(rest) < 4 or b"\0" not in rest[3:]:
        raise PduError(ESME_RINVCMDLEN, "the bind ends inside a mandatory field")
    system_id, password, system_type = (s.decode("latin-1") for s in strings)
    version, ton, npi = rest[:3]
    return BindRequest(
        system_id,
        password,
        system_type,
        interface_version=version,
        addr_ton=ton,
        addr_npi=npi,
        address_range=decode_string(rest[3:]),
    )


def decode_string(octets: bytes) -> str:
    """Returns the text up to the first NUL, or all of it: an answer without its NUL is still an
    answer (submit_sm_resp, bind responses).
    """
    return octets.partition(b"\0")[0].decode("latin-1")
