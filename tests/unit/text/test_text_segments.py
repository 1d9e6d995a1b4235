"""The segments of a text are counted by the numbers (docs/api.md, "Segments and price"; 3GPP TS
23.038 and 23.040).
"""

from time import perf_counter

import pytest

from heliograph import text
from heliograph.text.segments import (
    GSM_7,
    SEGMENTS_MAX,
    UCS_2,
    SegmentCount,
    count,
    gsm7_octets,
    gsm7_text,
    split,
    ucs2_octets,
    ucs2_text,
)


@pytest.mark.parametrize(
    ("written", "encoding", "sizes"),
    [
        ("", GSM_7, [0]),
        ("a", GSM_7, [1]),
        ("a" * 160, GSM_7, [160]),
        ("a" * 161, GSM_7, [153, 8]),
        ("a" * 153 * 2, GSM_7, [153, 153]),
        ("a" * (153 * 2 + 1), GSM_7, [153, 153, 1]),
        ("a" * 153 * SEGMENTS_MAX, GSM_7, [153] * 10),
        ("a" * (153 * SEGMENTS_MAX + 1), GSM_7, [153] * 10 + [1]),
        ("€" * 80, GSM_7, [80]),
        ("€" * 81, GSM_7, [76, 5]),  # 76 pairs are 152 septets: the 153rd stays empty
        ("a" * 152 + "€" + "a" * 7, GSM_7, [152, 8]),  # the pair would begin on the last septet
        ("a" * 151 + "€" + "a" * 8, GSM_7, [152, 8]),
        ("я", UCS_2, [1]),
        ("я" * 70, UCS_2, [70]),
        ("я" * 71, UCS_2, [67, 4]),
        ("я" * 67 * 3, UCS_2, [67, 67, 67]),
        ("я" * (67 * 3 + 1), UCS_2, [67, 67, 67, 1]),
        ("😀" * 35, UCS_2, [35]),
        ("😀" * 36, UCS_2, [33, 3]),  # 33 pairs are 66 units: the 67th stays empty
        ("я" * 66 + "😀" + "я" * 3, UCS_2, [66, 4]),
        ("я" * 65 + "😀" + "я" * 4, UCS_2, [66, 4]),
        # one character outside of the alphabet, and what was one segment is three
        ("a" * 159 + "`", UCS_2, [67, 67, 26]),
    ],
)
def test_a_text_takes_these_segments(written: str, encoding: str, sizes: list[int]) -> None:
    assert count(written) == SegmentCount(encoding, len(sizes))
    assert [len(part) for part in split(written, encoding)] == sizes


@pytest.mark.parametrize(
    ("written", "encoding", "sizes"),
    [
        ("a" * 160, GSM_7, [160]),
        ("a" * 152 * 2 + "a", GSM_7, [152, 152, 1]),
        ("a" * 151 + "€" + "a" * 8, GSM_7, [151, 9]),
        ("я" * 70, UCS_2, [70]),
        ("я" * 66 * 2 + "я", UCS_2, [66, 66, 1]),
        ("я" * 65 + "😀" + "я" * 4, UCS_2, [65, 5]),
    ],
)
def test_beside_a_longer_header_a_segment_holds_less(
    written: str, encoding: str, sizes: list[int]
) -> None:
    assert [len(part) for part in split(written, encoding, header_octets=7)] == sizes


@pytest.mark.parametrize(
    ("character", "octets"),
    [
        ("@", "00"),
        ("ò", "08"),
        ("Ç", "09"),
        ("Δ", "10"),
        ("¡", "40"),
        ("§", "5f"),
        ("¿", "60"),
        ("à", "7f"),
        ("€", "1b65"),
    ],
)
def test_the_alphabet_is_the_one_of_the_standard_and_not_ascii(character: str, octets: str) -> None:
    assert gsm7_octets(character).hex() == octets
    assert gsm7_text(bytes.fromhex(octets)) == character


@pytest.mark.parametrize(
    "character", ["`", "ç", "á", "Á", "ê", "\t", "\0", "\x1b", "’", "–", "\u00a0", "₵", "😀"]
)
def test_a_character_that_only_looks_like_the_alphabets_makes_the_text_ucs2(character: str) -> None:
    assert count("plain " + character).encoding == UCS_2
    with pytest.raises(
        ValueError,
        match=rf"U\+{ord(character):04X} at position 6 is not in the GSM 7-bit default alphabet",
    ):
        gsm7_octets("plain " + character)
    with pytest.raises(ValueError, match="position 6"):
        split("plain " + character, GSM_7)


def test_any_text_can_be_split_as_ucs2() -> None:
    assert [len(part) for part in split("a" * 71, UCS_2)] == [67, 4]


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="no such encoding: 'latin1'"):
        split("a", "latin1")


@pytest.mark.parametrize("written", ["\ud83d", "я\ude00", "\ude00\ud83d", "a\ud83da"])
def test_a_lone_surrogate_is_refused(written: str) -> None:
    for coded in (count, ucs2_octets, gsm7_octets, lambda surrogate: split(surrogate, UCS_2)):
        with pytest.raises(ValueError):  # noqa: PT011  each says it in its own words
            coded(written)


@pytest.mark.parametrize(
    "octets", [b"\x80", b"a\xff", b"\x1b", b"a\x1b", b"\x1ba", b"\x1b\x1b\x65"]
)
def test_octets_that_are_no_gsm_text_are_refused(octets: bytes) -> None:
    with pytest.raises(ValueError, match=r"no septet|extension table"):
        gsm7_text(octets)


@pytest.mark.parametrize("octets", [b"\x04", b"\xd8\x3d", b"\xde\x00\xd8\x3d"])
def test_octets_that_are_no_ucs2_text_are_refused(octets: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        ucs2_text(octets)


@pytest.mark.parametrize(
    "written", ["a" * 2**20, "a" * 2**20 + "я", "^" * 2**20, "😀" * 2**18, "a€😀" * 2**17]
)
def test_the_longest_text_a_body_can_hold_is_counted_in_no_time(written: str) -> None:
    began = perf_counter()
    assert count(written).segments > SEGMENTS_MAX
    assert perf_counter() - began < 0.5  # measured: 2 to 20 ms; what is not linear takes minutes


def test_the_front_door_offers_what_others_call() -> None:
    assert text.count_segments("a") == SegmentCount("GSM-7", 1)
    assert text.split_segments("a", "GSM-7") == ["a"]
