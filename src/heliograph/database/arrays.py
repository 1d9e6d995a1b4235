"""Turns columns of values into PostgreSQL array literals.

A driver's own array parameters cost it 0.25 µs an element. One text that PostgreSQL reads as an
array costs 0.07 µs here, and less in all (measured with eight columns of 64 and of 10,000
elements). The hot statements are written with `$1::uuid[]`; `as_text` makes `$1::text::uuid[]` of
it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

_ARRAY_PARAMETER: Final = re.compile(r"\$(\d+)::(\w+)\[\]")


@lru_cache(maxsize=256)
def as_text(sql: str) -> str:
    """Returns the statement with its array parameters taken as texts."""
    return _ARRAY_PARAMETER.sub(r"$\1::text::\2[]", sql)


def literal(values: Sequence[Any]) -> str:
    r"""Returns an array such as `{1,NULL,3}` or `{"a","b \" c"}`: of integers, booleans, strings
    (ids too) or bytes, None among them (PostgreSQL manual, 8.15.2).
    """
    if None in values:
        return (
            "{" + ",".join(["NULL" if value is None else _element(value) for value in values]) + "}"
        )
    if not values:
        return "{}"
    if isinstance(values[0], str):
        joined = '","'.join(values)
        if "\\" not in joined and joined.count('"') == 2 * (len(values) - 1):
            return '{"' + joined + '"}'
    elif not isinstance(values[0], bytes):
        return "{" + ",".join(map(str, values)) + "}"
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bytes):
        return '"\\\\x' + value.hex() + '"'
    return str(value)
