"""Reads strict JSON (RFC 8259; docs/api.md, "Bodies"), and writes JSON fast."""

import json
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import NAME_SHOWN_MAX, SHOWN_MAX, RoundedNumber
from heliograph.base.short_texts import shorten

NESTING_MAX: Final = 64
# elements, members, arrays and objects; twice the largest body that means something, a send to
# 10,000 recipients
PARTS_MAX: Final = 20_000
_TOO_DEEP: Final = f"The body is nested deeper than {NESTING_MAX} levels."
_TOO_MANY: Final = (
    f"The body holds more than {PARTS_MAX} values, arrays and objects; allowed: {PARTS_MAX}."
)
_QUOTES_MAX: Final = 4 * PARTS_MAX  # of so many parts, if each is a string with a name
# which of the two it is does not matter for how deep they stand
_BRACKETS_ONLY: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(octet for octet in range(256) if octet not in b"[]{}")
_INTEGER_CHARACTERS_MAX: Final = 20  # of a signed 64-bit integer, sign and all
_GZIP: Final = b"\x1f\x8b"  # RFC 1952, 2.3.1
# NUL or a surrogate, both of which can only come in escaped
_ESCAPED_SUSPECT: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_DIGITS_EXACT: Final = 15  # as many digits as a float always tells apart

# of what it does not know, only Rounded ever comes
encode: Final = msgspec.json.Encoder(enc_hook=float).encode


class InvalidJson(InvalidRequest):
    """The body is not the JSON object that is asked for."""

    reason = "invalid_json"


def decode_object(body: bytes) -> dict[str, Any]:
    """Returns the body as an object.

    Raises InvalidJson for all that is not well-formed, and for what only looks so: a BOM, duplicate
    keys, NaN, numbers out of range, U+0000, lone surrogates, nesting over 64, a body that is not
    an object; and for more parts than PARTS_MAX.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise InvalidJson("The body begins with a byte order mark; send plain UTF-8.")
    _refuse_shape(body)
    try:
        value = _DECODER.decode(body.decode())
    except UnicodeDecodeError as error:
        if body.startswith(_GZIP):
            raise InvalidJson(
                "The body is compressed (gzip), which is not read here; send it as it is."
            ) from error
        raise InvalidJson(f"The body is not UTF-8 (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        if not body.strip():
            raise InvalidJson("The body is empty; send a JSON object.") from error
        raise InvalidJson(f"The body is not JSON: {error.msg} (character {error.pos}).") from error
    # brackets that do not match, by hundreds: the decoder's own stack is limited
    except RecursionError as error:
        raise InvalidJson(_TOO_DEEP) from error
    if not isinstance(value, dict):
        raise InvalidJson(f"The body must be a JSON object, not {_kind(value)}.")
    if _ESCAPED_SUSPECT.search(body):
        _refuse_characters(value, None)
    return value


def _refuse_shape(body: bytes) -> None:
    """Raises InvalidJson for too many parts and for deep nesting, before anything is built: an
    array costs a hundred times its two octets.

    It looks at octets only, and is exact for valid JSON. Anything else may pass here: the decoder
    refuses it at its first wrong character.
    """
    opened = body.count(b"[") + body.count(b"{")
    if opened <= NESTING_MAX and len(body) <= PARTS_MAX:
        return  # hot: nearly every body
    outside = body
    if opened + body.count(b",") > PARTS_MAX or opened > NESTING_MAX:
        outside = _outside_strings(body)
        opened = outside.count(b"[") + outside.count(b"{")
    if opened + outside.count(b",") > PARTS_MAX:
        raise InvalidJson(_TOO_MANY)
    if opened > NESTING_MAX and opened == outside.count(b"]") + outside.count(b"}"):
        _refuse_deep(outside.translate(_BRACKETS_ONLY, _NO_BRACKETS))


def _outside_strings(body: bytes) -> bytes:
    """Returns the body without its strings. Outside of them a backslash is no JSON, so the escaped
    quotes go first.
    """
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if body.count(b'"') > _QUOTES_MAX:
        raise InvalidJson(_TOO_MANY)
    return b"".join(body.split(b'"')[::2])


def _refuse_deep(brackets: bytes) -> None:
    """Takes the innermost pairs away, level by level: what is left after NESTING_MAX times
    was deeper.
    """
    for _ in range(NESTING_MAX):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    raise InvalidJson(_TOO_DEEP)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        raise InvalidJson(f"The key {shorten(twice, NAME_SHOWN_MAX)!r} stands twice in one object.")
    return value


def _integer(digits: str) -> int:
    if len(digits) > _INTEGER_CHARACTERS_MAX or not -(2**63) <= (value := int(digits)) < 2**63:
        raise InvalidJson(f"The number {shorten(digits, SHOWN_MAX)} is out of range.")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidJson(f"The number {shorten(digits, SHOWN_MAX)} is out of range.")
    if len(digits) <= _DIGITS_EXACT and value:
        return value
    try:
        return value if Decimal(digits) == Decimal(repr(value)) else RoundedNumber(value)
    except InvalidOperation:  # an exponent of twenty digits
        return RoundedNumber(value)


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON.")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


class _Location(NamedTuple):
    """Says where a value stands: a name or an index, below another place. It becomes a text only
    when it is shown.
    """

    above: "_Location | None"
    step: str | int

    def __str__(self) -> str:
        if isinstance(self.step, int):
            return f"{self.above or ''}[{self.step}]"
        return (
            f"{self.above}.{shorten(self.step, NAME_SHOWN_MAX)}"
            if self.above
            else shorten(self.step, NAME_SHOWN_MAX)
        )


def _refuse_characters(value: Any, at: _Location | None) -> None:
    """Refuses characters that cannot be stored. PostgreSQL stores no NUL; a lone surrogate is not
    a character and has no UTF-8 form.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidJson(f"{at or 'A key'} holds the character U+0000.")
        if not value.isascii() and _SURROGATE.search(value):
            raise InvalidJson(f"{at or 'A key'} holds half a surrogate pair.")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_characters(name, None)
            _refuse_characters(item, _Location(at, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_characters(item, _Location(at, index))


def _kind(value: Any) -> str:
    kinds = {
        list: "an array",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else kinds[type(value)]
