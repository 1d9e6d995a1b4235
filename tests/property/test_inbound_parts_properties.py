"""Long texts come together exactly, whatever order their parts come in, and however often."""

from base64 import b64decode
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.carriers.link import BINARY, LATIN_1, HandsetText
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.inbound.receive.decode import TextPiece, decode
from heliograph.inbound.receive.parts import Assembly, PartedText
from heliograph.text import GSM_7, UCS_2
from heliograph.text.segments import gsm7_octets

OUR_NUMBER = "4567"
TEXT_MAX = 55  # characters: one short_message has room for all of them
GSM_CHARACTERS = "@£$¥èéùΔ_ΦΓΛ !\"#¤%&'()*+,-./0123456789:;<=>?AZaz§¿äöñüà\f^{}\\[~]|€\n\r"
CODINGS = {GSM_7: 0x00, LATIN_1: 0x03, UCS_2: 0x08, BINARY: 0x04}
WAYS = ("8", "16", "sar")


class Written(NamedTuple):
    """Holds a text as a phone cuts it into parts: anywhere, and of any size."""

    phone: str
    encoding: str
    text: str | bytes
    pdus: list[pdu.ShortMessage]


def octets_of(encoding: str, text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    if encoding == GSM_7:
        return gsm7_octets(text)
    return text.encode("latin-1" if encoding == LATIN_1 else "utf-16-be")


@st.composite
def texts(draw: st.DrawFn, phone: str, reference: int) -> Written:
    encoding = draw(st.sampled_from(list(CODINGS)))
    drawn: dict[str, st.SearchStrategy[Any]] = {
        GSM_7: st.text(GSM_CHARACTERS, min_size=1, max_size=TEXT_MAX),
        LATIN_1: st.text(
            st.characters(min_codepoint=1, max_codepoint=255), min_size=1, max_size=TEXT_MAX
        ),
        UCS_2: st.text(
            st.characters(min_codepoint=1, exclude_categories=["Cs"]),
            min_size=1,
            max_size=TEXT_MAX,
        ),
        BINARY: st.binary(min_size=1, max_size=TEXT_MAX),
    }
    text: str | bytes = draw(drawn[encoding])
    octets = octets_of(encoding, text)
    cuts = draw(st.lists(st.integers(0, len(octets)), max_size=8).map(sorted))
    pieces = [octets[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    way = draw(st.sampled_from(WAYS))
    in_payload = draw(st.booleans())
    pdus = [
        part_pdu(phone, CODINGS[encoding], piece, way, reference, len(pieces), number, in_payload)
        for number, piece in enumerate(pieces, 1)
    ]
    return Written(phone, encoding, text, pdus)


def part_pdu(
    phone: str,
    coding: int,
    octets: bytes,
    way: str,
    reference: int,
    total: int,
    number: int,
    in_payload: bool,
) -> pdu.ShortMessage:
    tlvs: dict[int, bytes] = {}
    if way == "sar":
        tlvs = {
            pdu.SAR_MSG_REF_NUM: reference.to_bytes(2, "big"),
            pdu.SAR_TOTAL_SEGMENTS: bytes([total]),
            pdu.SAR_SEGMENT_SEQNUM: bytes([number]),
        }
    elif way == "8":
        octets = bytes([5, 0, 3, reference, total, number]) + octets
    else:
        # a port address stands before it: elements come in any order
        header = bytes([4, 2, 0, 80, 8, 4, *reference.to_bytes(2, "big"), total, number])
        octets = bytes([len(header)]) + header + octets
    if in_payload:
        tlvs[pdu.MESSAGE_PAYLOAD] = octets
    return pdu.ShortMessage(
        f"+{phone}",
        OUR_NUMBER,
        b"" if in_payload else octets,
        esm_class=0 if way == "sar" else pdu.ESM_UDH,
        data_coding=coding,
        tlvs=tlvs,
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[Written]:
    """Returns what some phones have written, each of which sends some texts; all of them use the
    same few references.
    """
    references = st.lists(st.integers(0, 255), unique=True, min_size=1, max_size=3)
    return [
        draw(texts(f"23320123456{phone}", reference))
        for phone in range(draw(st.integers(1, 3)))
        for reference in draw(references)
    ]


def came(message: pdu.ShortMessage) -> HandsetText:
    return read_handset_text(pdu.decode_sm(pdu.encode_sm(message)), None)


def put_together(arrived: Sequence[HandsetText]) -> tuple[list[tuple[str, str, str]], int]:
    """Returns who wrote what in which encoding, and how many PDUs had come before."""
    numbers = count()
    assembly = Assembly(lambda: f"{next(numbers):032x}")
    found, repeats = [], 0
    known: set[str] = set()
    for each in arrived:
        if each.part is None:
            if each.digest in known:
                repeats += 1
                continue
            known.add(each.digest)
            text = PartedText("", 1)
            text.add(1, each.digest, _piece(each))
        else:
            text, is_new = assembly.place(each, each.part)
            repeats += not is_new
            if not is_new or not text.is_whole:
                continue
            text.inbound_id = "stored"
        assert text.is_whole
        found.append((each.sender, *decode(text.in_order, complete=True)))
    return found, repeats


def _piece(each: HandsetText) -> TextPiece:
    return TextPiece(1, each.alphabet, each.octets)


def as_read(written: Written) -> tuple[str, str, str | bytes]:
    return written.phone, written.encoding, written.text


def as_found(sender: str, encoding: str, text: str) -> tuple[str, str, str | bytes]:
    return sender, encoding, b64decode(text) if encoding == BINARY else text


@settings(max_examples=300, deadline=None)
@given(conversations(), st.data())
def test_parts_in_any_order_repeated_and_interleaved_give_exact_texts(
    conversation: list[Written], data: st.DataObject
) -> None:
    once = [each for written in conversation for each in written.pdus]
    again = data.draw(st.lists(st.sampled_from(once), max_size=6))
    arrived = data.draw(st.permutations([*once, *again]))
    found, repeats = put_together([came(each) for each in arrived])
    assert sorted(map(repr, (as_found(*each) for each in found))) == sorted(
        map(repr, map(as_read, conversation))
    )
    assert repeats == len(again)


@settings(deadline=None)
@given(texts("233201234567", 7), texts("233201234567", 7), st.data())
def test_a_reference_that_is_used_again_makes_another_text_though_a_part_was_lost(
    first: Written, second: Written, data: st.DataObject
) -> None:
    alike = {came(each).digest for each in first.pdus} & {came(each).digest for each in second.pdus}
    if alike or len(first.pdus) == 1:
        return
    lost = data.draw(st.integers(0, len(first.pdus) - 1))
    kept = [each for number, each in enumerate(first.pdus) if number != lost]
    # it begins with a part that the first text had, as the phone wrote it
    found, _ = put_together([came(each) for each in [*kept, *second.pdus]])
    if lost != 0 or len(first.pdus) != len(second.pdus):
        assert [as_found(*each) for each in found] == [as_read(second)]


@settings(deadline=None)
@given(texts("233201234567", 7), st.data())
@example(
    Written(
        "233201234567",
        UCS_2,
        "a😀b",
        [
            part_pdu("233201234567", 8, piece, "8", 7, 3, number, False)
            for number, piece in enumerate((b"\0a\xd8\x3d", b"\xde\0", b"\0b"), 1)
        ],
    ),
    None,
)
def test_what_is_left_of_a_text_is_what_came(written: Written, data: st.DataObject | None) -> None:
    missing = 1 if data is None else data.draw(st.integers(0, len(written.pdus) - 1))
    kept = [each for number, each in enumerate(written.pdus) if number != missing]
    if not kept:
        return
    parts = PartedText("", len(written.pdus))
    for each in map(came, kept):
        assert each.part is not None
        parts.add(each.part.number, each.digest, _piece(each)._replace(number=each.part.number))
    encoding, text = decode(parts.in_order, complete=False)
    octets = b"".join(each.octets for each in parts.in_order)
    if encoding == BINARY:
        assert b64decode(text) == octets
    elif encoding == LATIN_1:
        assert text.encode("latin-1") == octets
    elif encoding == UCS_2:
        text.encode("utf-8")  # no lone surrogate
    if data is None:
        assert text == "a\ufffdb"


@given(
    st.sampled_from([("latin-1", 0x03), ("utf-16-be", 0x08)]),
    st.text(st.characters(min_codepoint=1, max_codepoint=0xFF), min_size=1, max_size=60),
    st.integers(1, 3),
)
def test_nuls_that_end_a_text_are_no_part_of_it(
    written: tuple[str, int], text: str, nuls: int
) -> None:
    codec, coding = written
    octets = (text + "\0" * nuls).encode(codec)
    read = read_handset_text(
        pdu.ShortMessage("233201234567", OUR_NUMBER, octets, data_coding=coding), None
    )
    assert decode([_piece(read)], complete=True).text == text


@settings(deadline=None)
@given(
    st.binary(max_size=300),
    st.integers(0, 255),
    st.sampled_from([0, pdu.ESM_UDH]),
    st.dictionaries(
        st.sampled_from(
            [
                pdu.MESSAGE_PAYLOAD,
                pdu.SAR_MSG_REF_NUM,
                pdu.SAR_TOTAL_SEGMENTS,
                pdu.SAR_SEGMENT_SEQNUM,
            ]
        ),
        st.binary(max_size=4),
    ),
)
def test_whatever_octets_come_are_a_text_that_can_be_stored(
    octets: bytes, coding: int, esm_class: int, tlvs: dict[int, bytes]
) -> None:
    read = read_handset_text(
        pdu.ShortMessage(
            "233201234567",
            OUR_NUMBER,
            octets[:254],
            esm_class=esm_class,
            data_coding=coding,
            tlvs=tlvs,
        ),
        None,
    )
    for complete in (True, False):
        encoding, text = decode([_piece(read)], complete=complete)
        assert "\0" not in text
        text.encode("utf-8")
        if encoding == BINARY:
            assert b64decode(text) == read.octets
