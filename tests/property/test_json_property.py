"""Whatever octets a body holds, it is an object that every JSON reader reads the same, or it is
refused; nothing else happens.
"""

import json
import math
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.json import InvalidJson, decode_object, encode

TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b" ",
    b"\\",
    b"\\u",
    b"\\u0000",
    b"\\ud83d",
    b"\\ude00",
    b"0",
    b"-",
    b"1",
    b".",
    b"e",
    b"E+",
    b"9" * 19,
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b"a",
    b'"a"',
    b'"a":',
    b'{"a":',
    b"\xef\xbb\xbf",
    b"\0",
    b"\n",
    b"\xff",
    b"\xed\xa0\x80",
    "é".encode(),
    "😀".encode(),
]
alike_to_json = st.lists(
    st.builds(bytes.__mul__, st.sampled_from(TOKENS), st.sampled_from([1, 1, 1, 1, 2, 70, 1_100])),
    max_size=30,
).map(b"".join)

characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(characters),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(characters), inner, max_size=5)
    ),
    max_leaves=20,
)
objects = st.dictionaries(st.text(characters), values, max_size=5)


def read(body: bytes) -> dict[str, Any] | None:
    """Returns the object, or None when it was refused. Any other exception ends the test."""
    try:
        return decode_object(body)
    except InvalidJson as refused:
        refused.message.encode()  # it goes out in the answer
        return None


def assert_as_others_read_it(body: bytes, value: dict[str, Any]) -> None:
    assert value == msgspec.json.decode(body) == json.loads(body)
    assert not _is_anything_odd(value)


def _is_anything_odd(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(_is_anything_odd(name) or _is_anything_odd(item) for name, item in value.items())
    return isinstance(value, list) and any(map(_is_anything_odd, value))


@given(st.binary() | alike_to_json | st.builds(b'{"a": %s}'.__mod__, alike_to_json))
def test_any_octets_are_refused_or_read_as_others_read_them(body: bytes) -> None:
    value = read(body)
    if value is not None:
        assert_as_others_read_it(body, value)


@given(objects, st.booleans(), st.sampled_from([None, 1, "\t", "\r\n "]))
def test_every_sane_object_is_read_as_it_was_written(
    value: dict[str, Any], ascii_only: bool, indent: int | str | None
) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert decode_object(body) == value == decode_object(encode(value))
    assert_as_others_read_it(body, value)


@given(objects, st.data())
def test_a_sane_object_with_some_octets_changed_is_refused_or_read_as_others_read_it(
    value: dict[str, Any], data: st.DataObject
) -> None:
    body = bytearray(json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(body)))
        body[start : start + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from(TOKENS) | st.binary(max_size=3)
        )
    again = read(bytes(body))
    if again is not None:
        assert_as_others_read_it(bytes(body), again)
