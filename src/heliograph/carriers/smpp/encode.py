"""A message becomes its submissions: alphabet, long-message form, addresses and references, by the
carrier's settings.
"""

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

import msgspec

from heliograph.carriers.link import TEXTS_KEPT_MAX, Outgoing, Submission
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.reference import user_message_reference
from heliograph.carriers.smpp.settings import SmppSettings
from heliograph.text import segments

# days are the largest unit written; a "month" of validity_period has no fixed length
VALIDITY_S_MAX: Final = 28 * 86_400

DATA_CODING_UCS2: Final = 8
_DATA_CODINGS: Final = {"gsm": 0, "latin1": 3, "ascii": 1}  # SMPP 3.4, 5.2.19
_CODECS: Final = {"latin1": "latin-1", "ascii": "ascii"}

_REFERENCE_TLV: Final = Struct(">HHH")
_SAR_TLVS: Final = Struct(">HHHHHBHHB")


class EncodedText(NamedTuple):
    """Holds a text in octets, with one string for each submission that will carry it."""

    data_coding: int
    octets: tuple[bytes, ...]
    # how many the text counts; more than len(octets) when message_payload carries them all at once
    segments: int
    payload: bool  # in message_payload, not in short_message


class _LongForm(msgspec.Struct, frozen=True, gc=False):
    """Holds the fields of a submit_sm that depend on how it carries its part of a text."""

    esm_class: int
    short_message: bytes
    tlvs: bytes


class Encoder:
    """Splits and encodes messages for one carrier. It is pure: the same message always gives the
    same submissions.
    """

    def __init__(self, settings: SmppSettings) -> None:
        self._settings = settings
        self._coded = lru_cache(TEXTS_KEPT_MAX)(self._code)
        self._addresses = lru_cache(TEXTS_KEPT_MAX)(self._address)

    def submissions(self, message: Outgoing) -> list[Submission]:
        """Returns one submit_sm for each segment, or one for all of them in message_payload. It
        is hot.
        """
        coded = self._coded(message.text, message.encoding)
        total = len(coded.octets)
        addresses = self._addresses(message.sender)
        recipient = message.recipient.encode("ascii")
        validity = validity_period(message.validity_s)
        submissions = []
        for part, octets in enumerate(coded.octets, 1):
            wants_receipt = self._wants_receipt(part, total)
            form = self._long(message.message_id, part, total, octets, coded.payload)
            body = pdu.encode_body(
                addresses,
                recipient,
                form.esm_class,
                priority_flag=message.priority,
                validity_period=validity,
                registered_delivery=wants_receipt,
                data_coding=coded.data_coding,
                short_message=form.short_message,
                tlvs=form.tlvs,
            )
            parts = (1 << coded.segments) - 1 if total == 1 else 1 << (part - 1)
            submissions.append(
                Submission(
                    message.message_id,
                    part,
                    parts,
                    attempt=message.attempt,
                    sender=message.sender,
                    recipient=message.recipient,
                    data=body,
                    wants_receipt=wants_receipt,
                )
            )
        return submissions

    def _wants_receipt(self, part: int, total: int) -> bool:
        wanted = self._settings.receipts
        return wanted == "all" or (wanted == "last" and part == total)

    def _long(
        self, message_id: str, part: int, total: int, octets: bytes, payload: bool
    ) -> _LongForm:
        """Returns how one submission carries its octets: with a user data header, message_payload
        or sar_*, and never two of them.
        """
        tlvs = _REFERENCE_TLV.pack(
            pdu.USER_MESSAGE_REFERENCE, 2, user_message_reference(message_id, part)
        )
        if payload:
            return _LongForm(0, b"", tlvs + pdu.encode_tlv(pdu.MESSAGE_PAYLOAD, octets))
        if total == 1:
            return _LongForm(0, octets, tlvs)
        number = int(message_id[-4:], 16)
        if self._settings.long == "sar":
            sar = _SAR_TLVS.pack(
                pdu.SAR_MSG_REF_NUM,
                2,
                number,
                pdu.SAR_TOTAL_SEGMENTS,
                1,
                total,
                pdu.SAR_SEGMENT_SEQNUM,
                1,
                part,
            )
            return _LongForm(0, octets, tlvs + sar)
        # Information element 0, three octets: 8-bit reference, total, number (3GPP TS 23.040,
        # 9.2.3.24.1)
        header = bytes((5, 0, 3, number & 0xFF, total, part))
        return _LongForm(pdu.ESM_UDH, header + octets, tlvs)

    def _address(self, sender: str) -> bytes:
        ton, npi = self._settings.source_ton_npi or ton_npi_of(sender)
        source = pdu.SourceAddress(ton, npi, sender)
        return pdu.encode_addresses("", source, self._settings.dest_ton_npi)

    def _code(self, text: str, encoding: str) -> EncodedText:
        parts = segments.split(text, encoding)
        data_coding, octets = self._octets(parts, encoding)
        if octets is None:
            return _as_ucs2(text, len(parts))
        if self._settings.long == "payload" and len(parts) > 1:
            return EncodedText(data_coding, (b"".join(octets),), len(parts), payload=True)
        return EncodedText(data_coding, tuple(octets), len(parts), payload=False)

    def _octets(self, parts: list[str], encoding: str) -> tuple[int, list[bytes] | None]:
        """Returns data_coding and each part's octets; None where the carrier's alphabet lacks a
        character of a GSM-7 text.
        """
        if encoding == segments.UCS_2:
            return DATA_CODING_UCS2, [segments.ucs2_octets(part) for part in parts]
        alphabet = self._settings.alphabet
        data_coding = _DATA_CODINGS[alphabet]
        if alphabet == "gsm":
            return data_coding, [segments.gsm7_octets(part) for part in parts]
        try:
            return data_coding, [part.encode(_CODECS[alphabet]) for part in parts]
        except UnicodeEncodeError:
            return data_coding, None


def _as_ucs2(text: str, counted_segments: int) -> EncodedText:
    """Encodes a GSM-7 text that the carrier's alphabet cannot carry.

    The text is never altered, and the message keeps the segments it was counted and paid with: as
    UCS-2 in one short_message where that is enough, else whole in message_payload, which leaves the
    cutting to the carrier.
    """
    octets = segments.ucs2_octets(text)
    fits = len(segments.split(text, segments.UCS_2)) == 1
    return EncodedText(DATA_CODING_UCS2, (octets,), counted_segments, payload=not fits)


def ton_npi_of(sender: str) -> tuple[int, int]:
    """Returns the type of number and the numbering plan by the sender's form, as most carriers
    want them (SMPP 3.4, 5.2.5 and 5.2.6).
    """
    if not sender.isdigit():
        return 5, 0  # alphanumeric
    if len(sender) >= 7:
        return 1, 1  # international, ISDN: E.164 has at least 7 digits
    return 3, 0  # a short code belongs to the network


@lru_cache(4_096)
def validity_period(validity_s: int) -> bytes:
    """Returns a relative time, `YYMMDDhhmmss000R` (SMPP 3.4, 7.1.1.2). It is a second at least,
    for all zeros would mean the carrier's default.
    """
    left_s = min(max(validity_s, 1), VALIDITY_S_MAX)
    minutes, seconds = divmod(left_s, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return b"0000%02d%02d%02d%02d000R" % (days, hours, minutes, seconds)
