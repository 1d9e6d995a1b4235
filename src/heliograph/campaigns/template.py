"""The text of a campaign has placeholders, which are filled in for each recipient. This is pure.

`Hi {name|friend}, your code for {shop} is {{open}}`: a placeholder stands in braces. What it
becomes where there is no value stands behind a bar (nothing, when there is no bar). A brace that is
meant as one is doubled (docs/campaigns.md, "The text").
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from heliograph.base.forms import as_text, quote_value
from heliograph.base.short_texts import is_printable
from heliograph.text import SEGMENTS_MAX, count_segments

# Names of placeholders may be longer than what replaces them; ten segments hold 1,530. With four
# octets to each of so many, the event of a campaign stays below 20 kB (docs/api.md, "Events and
# webhooks").
TEMPLATE_CHARACTERS_MAX: Final = 4_000
PLACEHOLDERS_MAX: Final = 50  # in one text; each costs a look-up for every recipient
PLACEHOLDER_NAME_MAX: Final = 64
NAME: Final = "name"
PHONE: Final = "phone"

TOO_MANY_SEGMENTS: Final = "too_many_segments"  # these two: why a recipient's text cannot be sent
EMPTY_TEXT: Final = "empty_text"

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}|]*)(?:\|([^{}]*))?\}|[{}]")
# controls but for the end of a line; what has no UTF-8 form
_UNWANTED: Final = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DOUBLED: Final = {"{{": "{", "}}": "}"}


class Placeholder(NamedTuple):
    """Names a field of the recipient. `default` is used for those who have none."""

    name: str
    default: str


class FilledText(NamedTuple):
    """Holds the text for one recipient."""

    text: str
    encoding: str
    segments: int


Unsendable: TypeAlias = str  # TOO_MANY_SEGMENTS or EMPTY_TEXT


class Template(NamedTuple):
    """Holds a text as it was written down, taken apart. `parts` are literal texts and placeholders,
    in order.
    """

    source: str
    parts: tuple[str | Placeholder, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the fields that the text asks for, each once, in order of appearance."""
        return tuple(
            dict.fromkeys(part.name for part in self.parts if isinstance(part, Placeholder))
        )

    @property
    def plain(self) -> str | None:
        """Returns the text that everybody gets, or None when it has placeholders."""
        return (
            "".join(part for part in self.parts if isinstance(part, str))
            if not self.names
            else None
        )

    @property
    def plain_segments(self) -> int:
        """Returns the segments of the text that everybody gets. It is 0 when the text has
        placeholders, and when it cannot be sent, which no draft has.
        """
        of_all = None if self.plain is None else counted(self.plain)
        return of_all.segments if isinstance(of_all, FilledText) else 0

    def fill(self, values: Mapping[str, str]) -> str:
        """Fills in the values; an empty value counts as none."""
        return "".join(
            [
                part if isinstance(part, str) else values.get(part.name) or part.default
                for part in self.parts
            ]
        )

    def write(self, values: Mapping[str, str]) -> FilledText | Unsendable:
        """Returns the text for the recipient with these values, or why it cannot be sent."""
        return counted(self.fill(values))


def counted(text: str) -> FilledText | Unsendable:
    """Counts a text by the limits of POST /sms/send."""
    if not text:
        return EMPTY_TEXT
    encoding, segments = count_segments(text)
    return FilledText(text, encoding, segments) if segments <= SEGMENTS_MAX else TOO_MANY_SEGMENTS


def parse(source: str) -> Template:
    """Reads a campaign's text with its placeholders. Raises ValueError, which says what is wrong
    and where.
    """
    parts: list[str | Placeholder] = []
    end = 0
    for token in _TOKEN.finditer(source):
        if token.start() > end:
            parts.append(source[end : token.start()])
        end = token.end()
        parts.append(_DOUBLED.get(token[0]) or _placeholder(token))
    if end < len(source):
        parts.append(source[end:])
    template = Template(source, tuple(parts))
    if sum(isinstance(part, Placeholder) for part in parts) > PLACEHOLDERS_MAX:
        raise ValueError(f"must have at most {PLACEHOLDERS_MAX} placeholders")
    return template


def _placeholder(token: re.Match[str]) -> Placeholder:
    if token[1] is None:
        raise ValueError(
            f"has a {token[0]} at character {token.start() + 1} that is not part of a placeholder"
            f" such as {{name}}; for a brace in the text, write two: {token[0] * 2}"
        )
    name = token[1].strip()
    if not 1 <= len(name) <= PLACEHOLDER_NAME_MAX or not is_printable(name):
        raise ValueError(
            f"has a placeholder at character {token.start() + 1} whose name must have 1 to"
            f" {PLACEHOLDER_NAME_MAX} printable characters, not {quote_value(name)}"
        )
    return Placeholder(name, token[2] or "")


def read_template(value: object) -> Template:
    """Reads a text, for `Form.value`. One that is too long however it is filled is refused here
    already. Raises ValueError.
    """
    source = as_text(value)
    if not 1 <= len(source) <= TEMPLATE_CHARACTERS_MAX:
        raise ValueError(f"must have 1 to {TEMPLATE_CHARACTERS_MAX} characters, not {len(source)}")
    if bad := _UNWANTED.search(source):
        raise ValueError(f"must not hold U+{ord(bad[0]):04X}, at character {bad.start() + 1}")
    template = parse(source)
    least = "".join(part for part in template.parts if isinstance(part, str))
    if counted(least) == TOO_MANY_SEGMENTS:
        raise ValueError(
            f"takes {count_segments(least).segments} segments before anything is filled in;"
            f" allowed: {SEGMENTS_MAX}"
        )
    return template
