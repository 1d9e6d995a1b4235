"""Describes the submissions of a message, field by field, as a carrier would be given them with the
settings that it has now. What was sent is not kept, so this is made anew by the same encoder.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.carriers.link import Outgoing
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.encode import Encoder
from heliograph.carriers.smpp.settings import SmppSettings

_TONS: Final = {
    0: "unknown",
    1: "international",
    2: "national",
    3: "network specific",
    4: "subscriber number",
    5: "alphanumeric",
    6: "abbreviated",
}
_NPIS: Final = {
    0: "unknown",
    1: "ISDN (E.164)",
    3: "data (X.121)",
    4: "telex",
    6: "land mobile (E.212)",
    8: "national",
    9: "private",
    10: "ERMES",
    14: "internet (IP)",
    18: "WAP client id",
}
_CODINGS: Final = {0: "the carrier's default alphabet: GSM-7", 1: "ASCII", 3: "Latin-1", 8: "UCS-2"}
_TLVS: Final = {
    pdu.USER_MESSAGE_REFERENCE: "user_message_reference",
    pdu.SAR_MSG_REF_NUM: "sar_msg_ref_num",
    pdu.SAR_TOTAL_SEGMENTS: "sar_total_segments",
    pdu.SAR_SEGMENT_SEQNUM: "sar_segment_seqnum",
    pdu.MESSAGE_PAYLOAD: "message_payload",
}
_UDH_OCTETS: Final = 6  # of a concatenation with a reference of 8 bits


class PduField(NamedTuple):
    """Holds a field of a PDU: its name in SMPP 3.4, its value, and what the value means."""

    name: str
    value: str
    meaning: str = ""


class DescribedSubmission(NamedTuple):
    """Holds the fields of one submit_sm. `parts` has a bit for each segment that it carries."""

    parts: int
    octets: int
    fields: list[PduField]


def describe(
    settings: SmppSettings, message: Outgoing, *, shows_text: bool
) -> list[DescribedSubmission]:
    """Returns the submissions that a message would be. Of the text they show only how long it is,
    unless `shows_text`. Raises ValueError for a text that cannot be encoded.
    """
    return [
        DescribedSubmission(
            submission.parts,
            pdu.HEADER_OCTETS + len(submission.data),
            _fields(pdu.decode_sm(submission.data), shows_text=shows_text),
        )
        for submission in Encoder(settings).submissions(message)
    ]


def _fields(message: pdu.ShortMessage, *, shows_text: bool) -> list[PduField]:
    header = message.short_message[:_UDH_OCTETS] if message.esm_class & pdu.ESM_UDH else b""
    text = message.short_message[len(header) :]
    fields = [
        PduField("command_id", f"0x{pdu.SUBMIT_SM:08X}", "submit_sm"),
        PduField("service_type", _quote(message.service_type), "the carrier's default"),
        PduField("source_addr_ton", str(message.source_ton), _TONS.get(message.source_ton, "")),
        PduField("source_addr_npi", str(message.source_npi), _NPIS.get(message.source_npi, "")),
        PduField("source_addr", _quote(message.source_addr)),
        PduField("dest_addr_ton", str(message.dest_ton), _TONS.get(message.dest_ton, "")),
        PduField("dest_addr_npi", str(message.dest_npi), _NPIS.get(message.dest_npi, "")),
        PduField("destination_addr", _quote(message.destination_addr)),
        PduField(
            "esm_class",
            f"0x{message.esm_class:02X}",
            "store and forward, with a user data header" if header else "store and forward",
        ),
        PduField("protocol_id", str(message.protocol_id)),
        PduField(
            "priority_flag", str(message.priority_flag), "high" if message.priority_flag else "bulk"
        ),
        PduField("schedule_delivery_time", _quote(message.schedule_delivery_time), "at once"),
        PduField(
            "validity_period", _quote(message.validity_period), _span(message.validity_period)
        ),
        PduField(
            "registered_delivery",
            str(message.registered_delivery),
            "a receipt of the end is wanted" if message.registered_delivery else "no receipt",
        ),
        PduField("replace_if_present_flag", str(message.replace_if_present), "replaces nothing"),
        PduField("data_coding", str(message.data_coding), _CODINGS.get(message.data_coding, "")),
        PduField("sm_default_msg_id", str(message.sm_default_msg_id)),
        PduField("sm_length", str(len(message.short_message)), "octets"),
    ]
    if header:
        _, _, _, reference, total, number = header
        meaning = f"segment {number} of {total}, reference {reference}"
        fields.append(PduField("short_message: header", header.hex(" ").upper(), meaning))
    if text or pdu.MESSAGE_PAYLOAD not in message.tlvs:
        fields.append(PduField("short_message", *_text(text, shows_text=shows_text)))
    return fields + _tlvs(message.tlvs, shows_text=shows_text)


def _tlvs(tlvs: Mapping[int, bytes], *, shows_text: bool) -> list[PduField]:
    fields = []
    for tag, value in tlvs.items():
        name = f"{_TLVS.get(tag, 'TLV')} (0x{tag:04X})"
        if tag == pdu.MESSAGE_PAYLOAD:
            fields.append(PduField(name, *_text(value, shows_text=shows_text)))
        else:
            fields.append(PduField(name, value.hex(" ").upper(), str(int.from_bytes(value))))
    return fields


def _text(octets: bytes, *, shows_text: bool) -> tuple[str, str]:
    count = f"{len(octets)} octet{'s' * (len(octets) != 1)}"
    return (octets.hex(" ").upper(), count) if shows_text else ("not shown", count)


def _quote(text: str) -> str:
    return text or "empty"


def _span(period: str) -> str:
    """Returns a relative time, `YYMMDDhhmmss000R` (SMPP 3.4, 7.1.1.2), in words."""
    days, hours, minutes, seconds = (int(period[at : at + 2]) for at in (4, 6, 8, 10))
    units = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{count} {unit}" for count, unit in units if count) + " from then"
