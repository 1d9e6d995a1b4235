"""Strict JSON in (RFC 8259, and what contract section 2 refuses), fast JSON out."""

import json
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

import msgspec

from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import NAME_SHOWN_MAX, SHOWN_MAX, Rounded
from heliograph.base.lines import cut

NESTING_MAX: Final = 64
_TOO_DEEP: Final = f"The body is nested deeper than {NESTING_MAX} levels."
_INTEGER_CHARACTERS_MAX: Final = 20  # of a signed 64-bit integer, sign and all
_ESCAPED_SUSPECT: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")  # NUL or a surrogate, both of which can only come in escaped
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_DIGITS_EXACT: Final = 15  # as many digits as a float always tells apart

encode: Final = msgspec.json.Encoder(enc_hook=float).encode  # of what it does not know, only Rounded ever comes


class InvalidJson(InvalidRequest):
    """The body is not the JSON object that is asked for."""

    reason = "invalid_json"


def decode_object(body: bytes) -> dict[str, Any]:
    """The body as an object. Raises InvalidJson for all that is not well-formed, and for what only looks so:
    a BOM, duplicate keys, NaN, numbers out of range, U+0000, lone surrogates, nesting over 64, a body that is no object."""
    if body.startswith(b"\xef\xbb\xbf"):
        raise InvalidJson("The body begins with a byte order mark; send plain UTF-8.")
    try:
        value = _DECODER.decode(body.decode())
    except UnicodeDecodeError as error:
        raise InvalidJson(f"The body is not UTF-8 (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise InvalidJson(f"The body is not JSON: {error.msg} (character {error.pos}).") from error
    except RecursionError as error:  # hundreds of levels, by which the decoder's own stack is limited
        raise InvalidJson(_TOO_DEEP) from error
    if not isinstance(value, dict):
        raise InvalidJson(f"The body must be a JSON object, not {_kind(value)}.")
    if body.count(b"[") + body.count(b"{") > NESTING_MAX:
        _refuse_deep(value)
    if _ESCAPED_SUSPECT.search(body):
        _refuse_characters(value, "")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidJson(f"The key {cut(twice, NAME_SHOWN_MAX)!r} stands twice in one object.")
    return value


def _integer(digits: str) -> int:
    if len(digits) > _INTEGER_CHARACTERS_MAX or not -(2**63) <= (value := int(digits)) < 2**63:
        raise InvalidJson(f"The number {cut(digits, SHOWN_MAX)} is out of range.")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidJson(f"The number {cut(digits, SHOWN_MAX)} is out of range.")
    if len(digits) <= _DIGITS_EXACT and value:
        return value
    try:
        return value if Decimal(digits) == Decimal(repr(value)) else Rounded(value)
    except InvalidOperation:  # an exponent of twenty digits
        return Rounded(value)


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON.")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer, parse_float=_float, parse_constant=_constant)


def _refuse_deep(value: Any) -> None:
    """Level by level: what is decoded tells its depth at the price of looking at it, whatever the octets were."""
    level = [value]
    for _ in range(NESTING_MAX):
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each) if isinstance(item, dict | list)]
        if not level:
            return
    raise InvalidJson(_TOO_DEEP)


def _refuse_characters(value: Any, path: str) -> None:
    """NUL cannot be stored by PostgreSQL; a lone surrogate is no character and has no UTF-8 form."""
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidJson(f"{path or 'A key'} holds the character U+0000.")
        if not value.isascii() and _SURROGATE.search(value):
            raise InvalidJson(f"{path or 'A key'} holds half a surrogate pair.")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_characters(name, "")
            _refuse_characters(item, f"{path}.{cut(name, NAME_SHOWN_MAX)}" if path else cut(name, NAME_SHOWN_MAX))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_characters(item, f"{path}[{index}]")


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else kinds[type(value)]
