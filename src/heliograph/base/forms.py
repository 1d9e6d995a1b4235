"""Reads a request's fields. Every bad field is reported with what was found and what is allowed,
all of them together.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from typing import Any, Final, TypeVar

from heliograph.base.errors import FIELDS_REPORTED_MAX, FieldError, InvalidRequest
from heliograph.base.near_names import probable_names
from heliograph.base.short_texts import EMAIL_MAX, shorten
from heliograph.base.unknown_fields import CostlyNames, refusals

T = TypeVar("T")

_EMAIL: Final = re.compile(r"[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)*")
SHOWN_MAX: Final = 40  # characters of a bad value that an error repeats
NAME_SHOWN_MAX: Final = 64  # of an unknown name; ours are shorter
REQUIRED: Final = "is required"
UNKNOWN_NAMED_MAX: Final = 20  # unknown fields of one body, by name
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class RoundedNumber(float):
    """Marks a number that was written with more digits than a float holds, for those who must take
    it exactly or not at all.
    """


class BadParts(ValueError):
    """Parts of a value are wrong. They are named by their path within the value, such as `[3]`.
    `more` is how many others are wrong too.
    """

    def __init__(self, parts: list[FieldError], more: int = 0) -> None:
        super().__init__()
        self.parts = parts
        self.more = more


class Form:
    """Reads a JSON object field by field. `null` counts as absent. Call `finish()` last: it raises
    for all bad fields together.

    An error names a field as it was sent, by its name or an alias. Both may be sent if they mean
    the same once they are read.
    """

    def __init__(self, body: Mapping[str, Any], *, costly: tuple[CostlyNames, ...] = ()) -> None:
        """Begins to read `body`. `costly` names what the endpoint does not do, and what would cost
        the client if a body asked for it and it was ignored.
        """
        self._body = body
        self._costly = costly
        self._asked: list[tuple[str, ...]] = []
        self._unread = set(body)
        self._reasons: set[str] = set()
        self._untold = 0  # bad parts that are counted only
        self.errors: list[FieldError] = []

    def refuse(self, field: str, message: str, *, reason: str = InvalidRequest.reason) -> None:
        """Refuses the form. `reason` stands in the answer when nothing else is wrong."""
        self.errors.append(FieldError(field, message))
        self._reasons.add(reason)

    def text(
        self, name: str, *aliases: str, required: bool = False, least: int = 1, most: int
    ) -> str | None:
        def read(value: Any) -> str:
            text = as_text(value)
            if not least <= len(text) <= most:
                raise ValueError(f"must have {least} to {most} characters, not {len(text)}")
            return text

        return self.value(name, *aliases, read=read, required=required)

    def integer(
        self, name: str, *aliases: str, required: bool = False, least: int, most: int
    ) -> int | None:
        """Returns an integer of the body; None if there is none, or if it is wrong."""

        def read(value: Any) -> int:
            if isinstance(value, RoundedNumber):
                raise ValueError(
                    f"must be an integer from {least} to {most}, with no more digits than can be"
                    " kept exactly"
                )
            # 60.0 is one too (RFC 8259 section 6 draws no line)
            number = int(value) if isinstance(value, float) and value.is_integer() else value
            if (
                isinstance(number, bool)
                or not isinstance(number, int)
                or not least <= number <= most
            ):
                raise ValueError(
                    f"must be an integer from {least} to {most}, not {quote_value(value)}"
                )
            return number

        return self.value(name, *aliases, read=read, required=required)

    def boolean(self, name: str, *aliases: str, default: bool = False) -> bool:
        def read(value: Any) -> bool:
            if not isinstance(value, bool):
                raise ValueError(f"must be true or false, not {quote_value(value)}")
            return value

        value = self.value(name, *aliases, read=read)
        return default if value is None else value

    def value(
        self, name: str, *aliases: str, read: Callable[[Any], T], required: bool = False
    ) -> T | None:
        """Reads a field with rules of its own: `read` returns the value, or raises ValueError
        (BadParts) with what is wrong with it.
        """
        given = False
        first: str | None = None  # the name by which it was read first
        result: T | None = None
        names = (name, *aliases)
        self._asked.append(names)
        body = self._body
        for sent in names:
            if sent not in body:  # hot: most fields are not there
                continue
            self._unread.discard(sent)
            found = body[sent]
            if found is None:
                continue
            given = True
            try:
                value = read(found)
            except BadParts as error:
                self._untold += error.more
                for path, message in error.parts:
                    self.refuse(f"{sent}{path}", message)
            except ValueError as error:
                self.refuse(sent, str(error))
            else:
                if first is None:
                    first, result = sent, value
                elif value != result:
                    self.refuse(sent, f"differs from {first}; give one of them")
        if required and not given:
            self.refuse(name, REQUIRED)
        return result

    def _name_near_ones(self) -> None:
        """Adds to "is required" what was sent in place of the field, once it is known which of the
        names that were sent are unknown.
        """
        missing = {
            error.field: place
            for place, error in enumerate(self.errors)
            if error.message == REQUIRED
        }
        instead = probable_names(missing, self._unread) if missing else {}
        for field, sent in instead.items():
            self.errors[missing[field]] = FieldError(field, f"{REQUIRED}; found {sent!r} instead")
        slips = set(instead.values())  # one slip is one error
        self.errors = [error for error in self.errors if error.field not in slips]

    def warnings(self) -> list[str]:
        """Returns a warning for each unknown field, which is ignored. Of very many the first are
        named, and a last line counts the rest.
        """
        if not self._unread:  # hot: nearly every body
            return []
        # sorting twenty thousand long ones takes 10 ms, in which nothing else runs
        names = nsmallest(UNKNOWN_NAMED_MAX, self._unread)
        named = [f"unknown field {shorten(name, NAME_SHOWN_MAX)!r} was ignored" for name in names]
        rest = len(self._unread) - len(named)
        more = (
            "1 more unknown field was ignored"
            if rest == 1
            else f"{rest} more unknown fields were ignored"
        )
        return [*named, more] if rest else named

    def refuse_costly(self) -> None:
        """Refuses unknown fields that could cost: they count as bad fields. Call it when all others
        were read; `finish` does.
        """
        if not self._unread:  # hot: nearly every body
            return
        known = tuple(name for names in self._asked for name in names)
        found = dict(refusals(self._unread, known, self._costly))
        for name in nsmallest(FIELDS_REPORTED_MAX, found):
            self.refuse(name, found[name], reason="unknown_field")
        self._untold += max(0, len(found) - FIELDS_REPORTED_MAX)

    def finish(self) -> None:
        """Raises InvalidRequest with all errors together, if there are any."""
        self.refuse_costly()
        if self.errors:
            self._name_near_ones()
            reason = next(iter(self._reasons)) if len(self._reasons) == 1 else InvalidRequest.reason
            raise InvalidRequest(
                _summary(self.errors, self._untold), reason=reason, fields=self.errors
            )


class Query:
    """Reads the query string. It is like Form, but an unknown or repeated parameter is an error. An
    empty parameter (`status=`) counts as not given.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, str] = {}
        self._known: list[str] = []
        self.errors: list[FieldError] = []
        for name, value in pairs:
            if name in self._values:
                self.errors.append(FieldError(shorten(name, NAME_SHOWN_MAX), "is given twice"))
            self._values[name] = value

    def has(self, name: str) -> bool:
        """Returns whether the parameter was sent and is not empty, whatever its value."""
        return bool(self._values.get(name))

    def text(self, name: str, *aliases: str, most: int = 256) -> str | None:
        """Returns a text of the query by its name or an alias; None if there is none, or if it is
        wrong.
        """
        self._known.append(name)
        first: str | None = None  # the name by which it was read first
        result: str | None = None
        for sent in (name, *aliases):
            value = self._values.pop(sent, None)
            if not value:  # a form that is left blank sends its fields all the same
                continue
            if "\0" in value or len(value) > most:
                self.errors.append(
                    FieldError(sent, f"must have 1 to {most} characters and no U+0000")
                )
                continue
            if first is None:
                first, result = sent, value
            elif value != result:
                self.errors.append(FieldError(sent, f"differs from {first}; give one of them"))
        return result

    def leave_out_empty(self, *names: str) -> None:
        """Leaves out parameters that say nothing here: they are no error if they are empty."""
        for name in names:
            if self._values.get(name) == "":
                del self._values[name]

    def integer(self, name: str, *, default: int, least: int, most: int) -> int:
        """Returns an integer of the query; `default` if there is none, or if it is wrong."""
        sent = self._values.get(name)  # an empty number is a mistake, and an empty filter is not
        wrong_before = len(self.errors)
        value = self.text(name) or sent
        if value is None or len(self.errors) > wrong_before:
            return default
        if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or not least <= int(value) <= most:
            self.errors.append(
                FieldError(
                    name, f"must be an integer from {least} to {most}, not {quote_value(value)}"
                )
            )
            return default
        return int(value)

    def choice(self, name: str, allowed: Iterable[str]) -> str | None:
        value = self.text(name)
        if value is not None and value not in (choices := tuple(allowed)):
            self.errors.append(
                FieldError(name, f"must be one of {', '.join(choices)}, not {quote_value(value)}")
            )
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
        """Notes what is not a parameter here. Raises InvalidRequest with all errors together."""
        allowed = ", ".join(sorted(self._known)) or "none"
        for name in self._values:
            self.errors.append(
                FieldError(
                    shorten(name, NAME_SHOWN_MAX),
                    f"is not a query parameter here; allowed: {allowed}",
                )
            )
        if self.errors:
            raise InvalidRequest(_summary(self.errors), reason="invalid_query", fields=self.errors)


def read_moment_ms(value: Any) -> int:
    """Reads an RFC 3339 time as milliseconds since 1970. Parts of a millisecond are rounded up,
    so that ranges with such bounds hold the same moments. Raises ValueError.
    """
    if isinstance(value, str) and re.fullmatch(
        r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", value, re.ASCII
    ):
        try:
            return -(
                (_EPOCH - datetime.fromisoformat(value.upper().replace(" ", "T")).astimezone(UTC))
                // _MILLISECOND
            )
        except (ValueError, OverflowError):
            pass
    raise ValueError(
        f"must be a time in RFC 3339, such as 2026-01-31T09:30:00Z, not {quote_value(value)}"
    )


def text_reader(rule: Callable[[str], str]) -> Callable[[Any], str]:
    """Returns a reader for `Form.value`: a string that keeps a rule, which raises InvalidRequest
    about one field.
    """

    def read(value: Any) -> str:
        text = as_text(value)
        try:
            return rule(text)
        except InvalidRequest as error:
            raise ValueError(error.fields[0].message) from error

    return read


def as_text(value: Any) -> str:
    """Returns the value as it is. Raises ValueError for what is not a string."""
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {quote_value(value)}")
    return value


def read_email_address(text: str) -> str:
    """Returns an email address as it was typed. Nobody writes to it before its owner has shown that
    it is one, so not more of it is judged. Raises ValueError for any other text.
    """
    if len(text) > EMAIL_MAX or not text.isprintable() or _EMAIL.fullmatch(text) is None:
        raise ValueError(
            f"must be an email address of at most {EMAIL_MAX} characters, not {quote_value(text)}"
        )
    return text


def quote_value(value: Any) -> str:
    """Returns a bad value, cut short enough to stand in an error."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = (
        repr(value)
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    return shorten(text, SHOWN_MAX)


def _summary(errors: list[FieldError], untold: int = 0) -> str:
    message = errors[0].message
    first = f"{errors[0].field} {message}{'' if message.endswith(('?', '.')) else '.'}"
    more = len(errors) - 1 + untold
    return (
        first
        if not more
        else (
            f"{first} 1 more field is wrong."
            if more == 1
            else f"{first} {more} more fields are wrong."
        )
    )
