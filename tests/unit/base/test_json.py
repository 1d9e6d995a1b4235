"""Each thing that docs/api.md, "Bodies", refuses is refused wherever in a body it stands. The tests
of tests/property/test_json_property.py try bodies at random.
"""

import gzip
import json
import time
from contextlib import suppress
from typing import Any

import pytest

from heliograph.base.forms import RoundedNumber
from heliograph.base.json import NESTING_MAX, PARTS_MAX, InvalidJson, decode_object, encode

BOM = b"\xef\xbb\xbf"


def refusal(body: bytes) -> str:
    with pytest.raises(InvalidJson) as refused:
        decode_object(body)
    assert (refused.value.status, refused.value.code, refused.value.reason) == (
        400,
        "INVALID_REQUEST",
        "invalid_json",
    )
    return refused.value.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"null", "null"),
        (b"[]", "an array"),
        (b'"a"', "a string"),
        (b"true", "true or false"),
        (b"0", "a number"),
        (b"0.5", "a number"),
    ],
)
def test_a_body_that_is_no_object_is_refused_by_what_it_is(body: bytes, kind: str) -> None:
    assert refusal(body) == f"The body must be a JSON object, not {kind}."


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{}}",
        b"{} {}",
        b"{'a': 1}",
        b"{a: 1}",
        b'{"a": 1,}',
        b'{"a": 01}',
        b'{"a": +1}',
        b'{"a": .5}',
        b'{"a": "\t"}',
        b'{"a": "\0"}',
        b'{"a": "\\x"}',
        b'{"a": "\\u12"}',
        b"{}\0",
        b"{} // comment",
    ],
)
def test_what_is_not_json_is_refused_with_the_place(body: bytes) -> None:
    assert refusal(body).startswith("The body is not JSON: ")


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n\t"])
def test_an_empty_body_is_told_as_empty(body: bytes) -> None:
    assert refusal(body) == "The body is empty; send a JSON object."


def test_a_compressed_body_is_told_as_compressed() -> None:
    assert (
        refusal(gzip.compress(b'{"a": 1}'))
        == "The body is compressed (gzip), which is not read here; send it as it is."
    )


def test_a_byte_order_mark_is_refused() -> None:
    assert "byte order mark" in refusal(BOM + b"{}")


@pytest.mark.parametrize(
    "octets",
    [
        b"\xff",
        b"\xc0\x80",
        b"\xed\xa0\xbd",
        b"\xf4\x90\x80\x80",
        "ж".encode("utf-16-le"),
        "é".encode("latin-1"),
    ],
)
def test_octets_that_are_not_utf_8_are_refused_with_their_place(octets: bytes) -> None:
    assert refusal(b'{"message": "' + octets + b'"}').startswith("The body is not ")


# how a bad value may stand in a body: alone, deep, and where nothing reads it
PLACES = (
    b'{"a": %s}',
    b'{"recipients": ["1", {"b": [%s]}]}',
    b'{"message": "\\ud83d\\ude00", "unknown": {"c": %s}, "z": 1}',
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"NaN", "NaN is not JSON"),
        (b"Infinity", "Infinity is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e400", "1e400 is out of range"),
        (b"-1e400", "-1e400 is out of range"),
        (b"9223372036854775808", "9223372036854775808 is out of range"),
        (b"-9223372036854775809", "-9223372036854775809 is out of range"),
        (b"1" * 100_000, "1" * 40 + "… is out of range"),
        (b"1e" + b"9" * 60, "1e" + "9" * 38 + "… is out of range"),
        (b'{"k": 1, "j": 2, "k": 1}', "'k' stands twice"),
        (b'{"k": 1, "\\u006b": 2}', "'k' stands twice"),
        (b'{"%s": 1, "%s": 2}' % (b"k" * 65, b"k" * 65), f"'{'k' * 64}…' stands twice"),
        (b'{"%s": "\\u0000"}' % (b"k" * 65), f"{'k' * 64}… holds the character U+0000"),
        (b'"\\u0000"', "holds the character U+0000"),
        (b'"\\ud83d"', "holds half a surrogate pair"),
        (b'"\\ude00\\ud83d"', "holds half a surrogate pair"),
        (b'"\\uD83Dx"', "holds half a surrogate pair"),
        (b'{"\\u0000": 1}', "A key holds the character U+0000"),
        (b'{"\\udead": 1}', "A key holds half a surrogate pair"),
    ],
)
def test_what_only_looks_like_json_is_refused_wherever_it_stands(
    place: bytes, value: bytes, said: str
) -> None:
    assert said in refusal(place % value)


def test_a_bad_character_is_named_by_its_path() -> None:
    assert refusal(b'{"logs": [{}, {"body": ["a", "\\u0000"]}]}').startswith(
        "logs[1].body[1] holds"
    )


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 9223372036854775807, "b": -9223372036854775808}', {"a": 2**63 - 1, "b": -(2**63)}),
        (b'{"a": "\\ud83d\\ude00 \\u0001 \\\\u0000"}', {"a": "😀 \x01 \\u0000"}),
        (b'\r\n\t {"a" : [ 1e3 , -0.5 , true , null ] } ', {"a": [1000.0, -0.5, True, None]}),
        (b'{"": {}}', {"": {}}),
    ],
)
def test_what_stands_just_inside_is_taken_as_it_is(body: bytes, value: dict[str, Any]) -> None:
    assert decode_object(body) == value


@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"k":', b"}"), (b'[{"k":', b"}]")])
def test_nesting_is_taken_to_64_levels_and_no_further(opens: bytes, closes: bytes) -> None:
    levels = len(opens.replace(b'"k":', b""))
    deepest = (NESTING_MAX - levels) // levels  # the body's own object is a level too
    body = b'{"a": %s1%s, "b": "]]]]}}}}[[[[", "c": [[], [], {}]}'
    assert set(decode_object(body % (opens * deepest, closes * deepest))) == {"a", "b", "c"}
    for count in (deepest + 1, 500, PARTS_MAX // 3):
        assert "nested deeper than 64 levels" in refusal(body % (opens * count, closes * count))
    assert "holds more than 20000 values" in refusal(body % (opens * 300_000, closes * 300_000))


@pytest.mark.parametrize(
    ("part", "counts"),
    [(b"1", 1), (b"[]", 2), (b'{"k":1}', 2), (b'",[{\\""', 1), (b'{"[,":"]\\\\"}', 2)],
)
def test_so_many_parts_are_taken_and_no_more(part: bytes, counts: int) -> None:
    """What counts is the body's own object and array, and each comma and each bracket that opens
    outside of strings.
    """
    count = (PARTS_MAX - 2 + 1) // counts
    body = b'{"a":[%b],"b":"%b"}'
    filler = b",[{" * 10_000  # in a string they open nothing
    assert len(decode_object(body % (b",".join([part] * (count - 1)), filler))["a"]) == count - 1
    assert (
        refusal(body % (b",".join([part] * (count + 1)), filler))
        == "The body holds more than 20000 values, arrays and objects; allowed: 20000."
    )


def test_a_body_that_is_looked_at_first_is_refused_for_what_it_is() -> None:
    """Where brackets do not match, the decoder says what is wrong, and nothing is built that is
    deep.
    """
    many = b"[" * 70
    assert "not JSON" in refusal(b'{"a":' + many + b"]" * 69 + b"}")
    assert "not JSON" in refusal(b'{"a":"' + many + b'\\",' + b"1," * PARTS_MAX)
    assert "nested deeper" in refusal(b'{"a":' + b"[" * 10_000 + b"}")


def test_brackets_within_strings_and_side_by_side_are_no_nesting() -> None:
    wide = b'{"text": "%s", "lists": [%s1]}' % (b"[{" * 500, b"[[],{}]," * 500)
    assert len(decode_object(wide)["lists"]) == 501


HOSTILE_S_MAX = 10.0  # they take 0.1 s, on a slow machine 2 s; what is quadratic takes minutes


@pytest.mark.parametrize(
    "body",
    [
        b'{"b": [' + b"[]," * 70 + b'"' + b'\\"' * 500_000,
        b'{"b": [' + b"[]," * 330_000 + b"1]}",
        b'{"b": "' + b"\\ud83d\\ude00" * 80_000 + b'\\ud83d"}',
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
    ],
    ids=["unterminated string of escapes", "many lists", "many escapes", "deep", "deep objects"],
)
def test_no_body_of_a_megabyte_holds_up_the_others(body: bytes) -> None:
    before_s = time.process_time()
    with suppress(InvalidJson):
        decode_object(body)
    assert time.process_time() - before_s < HOSTILE_S_MAX


@pytest.mark.parametrize(
    ("written", "value", "is_rounded"),
    [
        ("1.00000000000000000001", 1.0, True),
        ("1e-400", 0.0, True),
        ("1e-99999999999999999999", 0.0, True),
        ("0.1000000000000000055511151231257827", 0.1, True),
        ("1.00000000000000000000", 1.0, False),
        ("0.30000000000000004", 0.1 + 0.2, False),
        ("-0.0", 0.0, False),
    ],
)
def test_a_number_with_more_digits_than_a_float_holds_is_told_from_one_that_is_exact(
    written: str, value: float, is_rounded: bool
) -> None:
    decoded = decode_object(b'{"a": %b}' % written.encode())
    assert (decoded["a"], isinstance(decoded["a"], RoundedNumber), json.loads(encode(decoded))) == (
        value,
        is_rounded,
        {"a": value},
    )
