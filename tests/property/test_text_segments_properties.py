"""Some things hold for the segments of every text (docs/api.md, "Segments and price")."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.text.segments import (
    GSM_7,
    UCS_2,
    beyond_gsm7,
    count,
    gsm7_octets,
    gsm7_text,
    split,
    ucs2_octets,
    ucs2_text,
)

GSM = gsm7_text(bytes(code for code in range(0x80) if code != 0x1B)) + "\f^{}\\[~]|€"
NO_GSM = "я😀`𝒳\u0000é\u0301中"

# Hypothesis seldom draws long texts by itself, and the limits lie at 70 and 160: so a run of one
# character, drawn ones, and again.
runs = st.builds(
    "".join,
    st.lists(
        st.builds(
            lambda character, times: character * times,
            st.sampled_from("aé€^[я😀中"),
            st.integers(0, 170),
        ),
        max_size=5,
    ),
)
gsm_texts = st.text(GSM, max_size=400) | st.builds(
    lambda run, text: run + text, st.text("a€^", min_size=100, max_size=500), st.text(GSM)
)
any_texts = (
    gsm_texts
    | runs
    | st.text(GSM + NO_GSM, max_size=400)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
)


def size_of(part: str, encoding: str) -> int:
    """Returns the size of a part in septets or UCS-2 units."""
    return len(gsm7_octets(part)) if encoding == GSM_7 else len(ucs2_octets(part)) // 2


@given(any_texts)
def test_the_parts_are_the_text_and_as_many_as_were_counted(text: str) -> None:
    encoding, segments = count(text)
    for chosen in {encoding, UCS_2}:
        assert "".join(split(text, chosen)) == text
    assert len(split(text, encoding)) == segments


@given(any_texts)
def test_every_part_is_full_and_none_is_too_full(text: str) -> None:
    for encoding in {count(text).encoding, UCS_2}:
        alone, part_max = (160, 153) if encoding == GSM_7 else (70, 67)
        parts = split(text, encoding)
        sizes = [size_of(part, encoding) for part in parts]
        if size_of(text, encoding) <= alone:
            assert parts == [text]
            continue
        assert max(sizes) <= part_max
        # a part has no room for the first character of the next one; so no split into fewer exists
        assert all(
            size + size_of(following[0], encoding) > part_max
            for size, following in zip(sizes[:-1], parts[1:], strict=True)
        )
        assert all(parts)


@given(any_texts)
def test_a_text_is_gsm7_exactly_when_every_character_is(text: str) -> None:
    assert count(text).encoding == (GSM_7 if set(text) <= set(GSM) else UCS_2)


@given(any_texts)
def test_what_makes_a_text_ucs2_is_all_of_it_that_gsm7_lacks(text: str) -> None:
    found = beyond_gsm7(text)
    assert set(found) == {character for character in text if character not in GSM}
    assert found == sorted(found, key=text.index)
    assert bool(found) == (count(text).encoding == UCS_2)


@given(gsm_texts)
def test_gsm7_octets_are_septets_and_read_back(text: str) -> None:
    octets = gsm7_octets(text)
    assert octets.isascii()
    assert gsm7_text(octets) == text


@given(any_texts)
def test_ucs2_octets_read_back(text: str) -> None:
    assert ucs2_text(ucs2_octets(text)) == text


@given(any_texts)
def test_the_octets_of_the_parts_are_the_octets_of_the_text(text: str) -> None:
    encoding = count(text).encoding
    octets_of = gsm7_octets if encoding == GSM_7 else ucs2_octets
    assert b"".join(octets_of(part) for part in split(text, encoding)) == octets_of(text)
