"""Makes the PDUs that carry a text of a handset, in the forms in which carriers bring long ones."""

from typing import Any, Final, NamedTuple

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.encode import ton_npi_of
from heliograph.carriers.smpp.receipt import UCS2
from heliograph.carriers.smsc.journal_entry import text_hash
from heliograph.carriers.smsc.settings import SmscSettings
from heliograph.text import UCS_2, segments

# User data headers with one information element (3GPP TS 23.040, 9.2.3.24.1 and .8): a reference
# of 8 or 16 bits, the number of parts, and the number of this one.
_OCTETS_OF_REFERENCE: Final = {"udh": 1, "udh16": 2}
_ELEMENT: Final = {1: b"\x05\x00\x03", 2: b"\x06\x08\x04"}
_SAR_REFERENCE_OCTETS: Final = 2  # SMPP 3.4, 5.3.2.22
_WHOLE: Final = frozenset({"payload", "data_sm"})


class HandsetPdu(NamedTuple):
    """Holds a text that a handset sends, or a part of one, until the client has taken it."""

    sender: str
    part: int
    command: int
    body: bytes


class _TextPart(NamedTuple):
    octets: bytes
    text_sha256: str


class WrittenText:
    """Holds the text that all handsets write, cut into parts as its form has them."""

    def __init__(self, settings: SmscSettings) -> None:
        self._form = settings.mo_long
        self._recipient = settings.mo_to.encode("ascii")
        self._to_ton_npi = ton_npi_of(settings.mo_to)
        encoding = segments.count(settings.mo_text).encoding
        self._data_coding = UCS2 if encoding == UCS_2 else 0
        encoded = segments.ucs2_octets if encoding == UCS_2 else segments.gsm7_octets
        # 16 bits of a reference take an octet more
        header_octets = segments.CONCATENATION_OCTETS + (self._form == "udh16")
        parts = (
            [settings.mo_text]
            if self._form in _WHOLE
            else segments.split(settings.mo_text, encoding, header_octets)
        )
        octets = [encoded(part) for part in parts]
        self._parts = [_TextPart(each, text_hash(self._data_coding, each)) for each in octets]

    def pdus(self, sender: str, reference: int) -> list[HandsetPdu]:
        """Returns what brings the text of a phone: the parts in their order. Of the reference as
        many bits count as the form has. It is hot.
        """
        source = pdu.SourceAddress(1, 1, sender)
        addresses = pdu.encode_addresses("", source, self._to_ton_npi)
        if self._form == "data_sm":
            payload = pdu.encode_tlv(pdu.MESSAGE_PAYLOAD, self._parts[0].octets)
            body = pdu.encode_data_sm(addresses, self._recipient, self._data_coding, payload)
            return [HandsetPdu(sender, 1, pdu.DATA_SM, body)]
        return [
            HandsetPdu(sender, number, pdu.DELIVER_SM, self._body(addresses, reference, number))
            for number in range(1, len(self._parts) + 1)
        ]

    def journal_fields(self, text: HandsetPdu) -> dict[str, Any]:
        """Returns the fields of the journal's lines about a text, or about a part of one."""
        return {
            "sender": text.sender,
            "part": text.part,
            "parts": len(self._parts),
            "text_sha256": self._parts[text.part - 1].text_sha256,
        }

    def _body(self, addresses: bytes, reference: int, number: int) -> bytes:
        octets = self._parts[number - 1].octets
        header = tlvs = b""
        if self._form == "payload":
            octets, tlvs = b"", pdu.encode_tlv(pdu.MESSAGE_PAYLOAD, octets)
        elif len(self._parts) > 1 and self._form == "sar":
            tlvs = self._sar(reference, number)
        elif len(self._parts) > 1:
            header = self._header(reference, number)
        return pdu.encode_body(
            addresses,
            self._recipient,
            pdu.ESM_UDH if header else 0,
            priority_flag=0,
            validity_period=b"",
            registered_delivery=0,
            data_coding=self._data_coding,
            short_message=header + octets,
            tlvs=tlvs,
        )

    def _header(self, reference: int, number: int) -> bytes:
        size = _OCTETS_OF_REFERENCE[self._form]
        return _ELEMENT[size] + _low(reference, size) + bytes((len(self._parts), number))

    def _sar(self, reference: int, number: int) -> bytes:
        return (
            pdu.encode_tlv(pdu.SAR_MSG_REF_NUM, _low(reference, _SAR_REFERENCE_OCTETS))
            + pdu.encode_tlv(pdu.SAR_TOTAL_SEGMENTS, bytes((len(self._parts),)))
            + pdu.encode_tlv(pdu.SAR_SEGMENT_SEQNUM, bytes((number,)))
        )


def _low(reference: int, octets: int) -> bytes:
    """Returns the lower octets of a number."""
    return (reference % (1 << 8 * octets)).to_bytes(octets, "big")
