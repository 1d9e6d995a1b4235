"""Ids have three forms. The tests of test_ids_order.py say that they are in the order in which they
were made.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base import clock, ids

TAIL = "01h455vb4pex5vsknk084sn02q"
numbers = st.integers(0, (1 << 128) - 1)
prefixes = st.sampled_from(["msg", "snd", "acc", "site"])


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("prefix_00000000000000000000000000", "00000000000000000000000000000000"),
        ("prefix_0000000000000000000000000g", "00000000000000000000000000000010"),
        (f"prefix_{TAIL}", "01890a5dac96774bbcceb302099a8057"),
        ("prefix_7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffffffffffffffffffffffffffff"),
    ],
)
def test_the_text_form_is_the_typeid_of_the_uuid(text: str, raw: str) -> None:
    """The values are the examples of the TypeID specification, version 0.3.0."""
    assert ids.raw_of_text("prefix", text) == raw
    assert ids.text_of_raw("prefix", raw) == text


@given(prefixes, numbers)
def test_every_form_leads_to_the_others_and_back(prefix: str, number: int) -> None:
    text, raw = ids.text_of_number(prefix, number), ids.raw_of_number(number)
    assert len(text) == len(prefix) + 27
    assert len(raw) == 32
    assert ids.number_of_text(prefix, text) == number == int(raw, 16)
    assert ids.raw_of_text(prefix, text) == raw
    assert ids.text_of_raw(prefix, raw) == text


@given(numbers, numbers)
def test_texts_and_raws_are_in_the_order_of_the_numbers(a: int, b: int) -> None:
    in_order = (a < b) - (a > b)
    for form in (lambda number: ids.text_of_number("msg", number), ids.raw_of_number):
        assert (form(a) < form(b)) - (form(a) > form(b)) == in_order


@given(
    prefixes,
    st.integers(0, (1 << 128) - 1_001)
    | st.integers(1, 1 << 100).map(lambda high: (high << 20) - 500),
    st.integers(0, 1_000),
)
def test_the_texts_of_a_run_are_those_of_its_numbers_one_by_one(
    prefix: str, first: int, count: int
) -> None:
    assert ids.texts_of_run(prefix, first, count) == [
        ids.text_of_number(prefix, number) for number in range(first, first + count)
    ]


@given(prefixes, numbers, st.data())
def test_a_text_that_is_no_id_is_none_and_never_another_id(
    prefix: str, number: int, data: st.DataObject
) -> None:
    text = ids.text_of_number(prefix, number)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    changed = (
        text[:start]
        + data.draw(
            st.text(max_size=3) | st.sampled_from(["i", "L", "o", "u", "_", "\0", "٣", "8"])
        )
        + text[end:]
    )
    found = ids.number_of_text(prefix, changed)
    assert (ids.raw_of_text(prefix, changed) is None) == (found is None)
    if found is not None:
        assert ids.text_of_number(prefix, found) == changed  # one id has one text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "msg",
        "msg_",
        f"_{TAIL}",
        TAIL,
        f"snd_{TAIL}",
        f"msg-{TAIL}",
        f"MSG_{TAIL}",
        f"msg_{TAIL.upper()}",
        f"msg_{TAIL[:-1]}",
        f"msg_{TAIL}0",
        f"msg_{TAIL} ",
        f"msg_8{TAIL[1:]}",
        f"msg_{TAIL[:-1]}u",
        f"msg_{TAIL[:-1]}٣",
    ],
)
def test_a_malformed_text_is_none(text: str) -> None:
    assert ids.number_of_text("msg", text) is None


def test_an_id_tells_when_it_was_made_and_no_two_are_the_same() -> None:
    before_ms = clock.now_ms()
    made = [ids.new("con") for _ in range(10_000)]
    after_ms = clock.now_ms()
    assert len(set(made)) == 10_000
    for text in made:
        number = ids.number_of_text("con", text)
        assert number is not None
        assert before_ms <= ids.made_at_ms(number) <= after_ms


@given(st.integers(0, 1 << 40), st.integers(0, 3), st.integers(0, ids.LATER_MS - 1))
def test_an_id_that_belongs_to_a_record_is_the_same_whenever_it_is_asked_for(
    made_ms: int, place: int, late_ms: int
) -> None:
    record = ids.new_number(made_ms)
    derived = ids.derived_number(record, place, made_ms)
    assert derived == ids.derived_number(record, place, made_ms + late_ms)
    # a UUIDv7 (RFC 9562)
    assert (ids.made_at_ms(derived), derived >> 76 & 0xF, derived >> 62 & 0b11) == (
        made_ms,
        0x7,
        0b10,
    )
    assert len({ids.derived_number(record, each, made_ms) for each in range(4)} | {record}) == 5


@given(st.integers(0, 1 << 40), st.integers(0, 3))
def test_no_new_id_is_one_that_belongs_to_a_record(made_ms: int, place: int) -> None:
    first = ids.new_number(made_ms)
    assert not any((first + place) >> 61 & 1 for place in (0, ids.SERIES_MAX))
    assert ids.derived_number(first, place, made_ms) >> 61 & 1


@given(st.integers(0, 1 << 40), st.integers(0, 3), st.integers(-1_000, 100 * ids.LATER_MS))
def test_the_time_of_such_an_id_is_near_its_moment(made_ms: int, place: int, late_ms: int) -> None:
    derived = ids.derived_number(ids.new_number(made_ms), place, made_ms + late_ms)
    assert -1_000 <= made_ms + late_ms - ids.made_at_ms(derived) < ids.LATER_MS
