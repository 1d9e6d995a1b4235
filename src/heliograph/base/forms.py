"""Reading a request's fields: every bad one is named with what was found and what is allowed, and all are reported together."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from heliograph.base.errors import FieldError, InvalidRequest

T = TypeVar("T")

SHOWN_MAX: Final = 40  # characters of a bad value that an error repeats
_NOTHING: Final = object()


class Form:
    """A JSON object being read field by field. `null` counts as absent. Call `finish()` last: it raises for all bad fields together."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._unread = set(body)
        self.errors: list[FieldError] = []

    def _take(self, name: str, aliases: tuple[str, ...], required: bool) -> Any:
        found, said = _NOTHING, name
        for candidate in (name, *aliases):
            if candidate not in self._unread:
                continue
            self._unread.discard(candidate)
            value = self._body[candidate]
            if value is None:
                continue
            if found is not _NOTHING and found != value:
                self.refuse(candidate, f"differs from {said}; give one of them")
                continue
            if found is _NOTHING:
                found, said = value, candidate
        if found is _NOTHING and required:
            self.refuse(name, "is required")
        return found

    def refuse(self, field: str, message: str) -> None:
        self.errors.append(FieldError(field, message))

    def text(self, name: str, *aliases: str, required: bool = False, least: int = 1, most: int) -> str | None:
        value = self._take(name, aliases, required)
        if value is _NOTHING:
            return None
        if not isinstance(value, str):
            self.refuse(name, f"must be a string, not {shown(value)}")
        elif not least <= len(value) <= most:
            self.refuse(name, f"must have {least} to {most} characters, not {len(value)}")
        else:
            return value
        return None

    def integer(self, name: str, *aliases: str, required: bool = False, least: int, most: int) -> int | None:
        value = self._take(name, aliases, required)
        if value is _NOTHING:
            return None
        number = int(value) if isinstance(value, float) and value.is_integer() else value  # 60.0 is one too (RFC 8259 section 6 draws no line)
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            self.refuse(name, f"must be an integer from {least} to {most}, not {shown(value)}")
            return None
        return number

    def boolean(self, name: str, *aliases: str, default: bool = False) -> bool:
        value = self._take(name, aliases, required=False)
        if value is _NOTHING:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"must be true or false, not {shown(value)}")
            return default
        return value

    def value(self, name: str, *aliases: str, read: Callable[[Any], T | str], required: bool = False) -> T | None:
        """A field with rules of its own: `read` returns the value, or raises ValueError with what is wrong with it."""
        value = self._take(name, aliases, required)
        if value is _NOTHING:
            return None
        try:
            return read(value)  # type: ignore[return-value]
        except ValueError as error:
            self.refuse(name, str(error))
            return None

    def warnings(self) -> list[str]:
        """Unknown fields are ignored, and named."""
        return [f"unknown field {name[:64]!r} was ignored" for name in sorted(self._unread)[:20]]

    def finish(self) -> None:
        if self.errors:
            raise InvalidRequest(_summary(self.errors), fields=self.errors)


class Query:
    """The query string being read; like Form, but an unknown or repeated parameter is an error."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, str] = {}
        self._known: list[str] = []
        self.errors: list[FieldError] = []
        for name, value in pairs:
            if name in self._values:
                self.errors.append(FieldError(name, "is given twice"))
            self._values[name] = value

    def text(self, name: str, *aliases: str, most: int = 256) -> str | None:
        self._known.append(name)
        found: str | None = None
        for candidate in (name, *aliases):
            value = self._values.pop(candidate, None)
            if value is None:
                continue
            if found is not None and found != value:
                self.errors.append(FieldError(candidate, f"differs from {name}; give one of them"))
            found = value
        if found is not None and ("\0" in found or not 1 <= len(found) <= most):
            self.errors.append(FieldError(name, f"must have 1 to {most} characters and no U+0000"))
            return None
        return found

    def integer(self, name: str, *, default: int, least: int, most: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or not least <= int(value) <= most:
            self.errors.append(FieldError(name, f"must be an integer from {least} to {most}, not {shown(value)}"))
            return default
        return int(value)

    def choice(self, name: str, allowed: Iterable[str]) -> str | None:
        value = self.text(name)
        if value is not None and value not in (choices := tuple(allowed)):
            self.errors.append(FieldError(name, f"must be one of {', '.join(choices)}, not {shown(value)}"))
            return None
        return value

    def moment_ms(self, name: str) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return read_moment_ms(value)
        except ValueError as error:
            self.errors.append(FieldError(name, str(error)))
            return None

    def finish(self) -> None:
        allowed = ", ".join(sorted(self._known)) or "none"
        for name in list(self._values)[:20]:
            self.errors.append(FieldError(name[:64], f"is not a query parameter here; allowed: {allowed}"))
        if self.errors:
            raise InvalidRequest(_summary(self.errors), reason="invalid_query", fields=self.errors)


def read_moment_ms(value: Any) -> int:
    """RFC 3339 → milliseconds since 1970. Raises ValueError."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", value, re.ASCII):
        try:
            return round(datetime.fromisoformat(value.upper().replace(" ", "T")).astimezone(UTC).timestamp() * 1_000)
        except (ValueError, OverflowError):
            pass
    raise ValueError(f"must be a time in RFC 3339, such as 2026-01-31T09:30:00Z, not {shown(value)}")


def shown(value: Any) -> str:
    """A bad value, short enough to stand in an error."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"


def _summary(errors: list[FieldError]) -> str:
    first = f"{errors[0].field} {errors[0].message}."
    return first if len(errors) == 1 else f"{first} {len(errors) - 1} more field(s) are wrong."
