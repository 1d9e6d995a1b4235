"""A text from a handset is read in the alphabet that its carrier says, whatever its header has."""

import pytest

from heliograph.carriers import BINARY, PartOf
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.text import GSM_7, UCS_2
from tests.support.wire.handset_texts import text_of

PART_1_OF_2 = b"\x00\x03\x01\x02\x01"
PART_0_OF_0 = b"\x08\x04\x00\x01\x00\x00"
NATIONAL_TABLE = b"\x24\x01\x01"


def with_header(*elements: bytes) -> bytes:
    header = b"".join(elements)
    return bytes([len(header)]) + header + b"text"


@pytest.mark.parametrize("group", range(8))
def test_a_text_that_the_phone_is_to_delete_is_read_as_one_that_it_keeps(group: int) -> None:
    """The groups 01xx are coded as the groups 00xx are (3GPP TS 23.038, section 4)."""
    is_compressed = group & 2
    expected = [BINARY] * 4 if is_compressed else [GSM_7, BINARY, UCS_2, BINARY]
    found = [
        read_handset_text(text_of(b"text", coding=group << 4 | alphabet << 2), None).alphabet
        for alphabet in range(4)
    ]
    assert found == expected


@pytest.mark.parametrize(("coding", "alphabet"), [(0, BINARY), (8, UCS_2), (4, BINARY)])
def test_national_tables_are_about_septets_alone(coding: int, alphabet: str) -> None:
    message = text_of(with_header(NATIONAL_TABLE), coding=coding, esm_class=pdu.ESM_UDH)
    read = read_handset_text(message, None)
    assert (read.alphabet, read.octets) == (alphabet, b"text")


@pytest.mark.parametrize(
    "elements", [(PART_1_OF_2,), (PART_1_OF_2, PART_0_OF_0), (PART_0_OF_0, PART_1_OF_2)]
)
def test_an_element_that_cannot_be_is_ignored(elements: tuple[bytes, ...]) -> None:
    """It is ignored, as 3GPP TS 23.040, 9.2.3.24.1 asks."""
    read = read_handset_text(text_of(with_header(*elements), esm_class=pdu.ESM_UDH), None)
    assert read.part == PartOf(1 << 16 | 1, 2, 1)
    assert (read.alphabet, read.octets) == (GSM_7, b"text")
