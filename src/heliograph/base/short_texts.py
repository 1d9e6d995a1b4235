"""Names, reasons and references are short texts on one line. They keep the same rules everywhere
they are stored.
"""

from typing import Final

from heliograph.base.errors import FieldError, InvalidRequest

# zero-width non-joiner and joiner: Persian and Hindi names are spelled with them, emoji put
# together
JOINERS: Final = "\u200c\u200d"
BYTE_ORDER_MARK: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"  # as some editors begin UTF-8
# These are as wide as their columns.
BY_MAX: Final = 64  # characters of the name of somebody who has decided something
REASON_MAX: Final = 255  # characters of why
EMAIL_MAX: Final = 254  # RFC 5321, as corrected: what fits into a path of 256 with its brackets
_WITHOUT_JOINERS: Final = str.maketrans("", "", JOINERS)


def one_line(field: str, value: str, *, most: int) -> str:
    """Returns `value` without spaces at its ends: 1..`most` printable characters, JOINERS among
    them. Raises InvalidRequest.

    Control characters would forge lines in logs and tables, NUL cannot be stored by PostgreSQL, and
    a lone surrogate has no UTF-8 form.
    """
    text = value.strip()
    if not 1 <= len(text) <= most:
        raise invalid_field(field, f"must have 1 to {most} characters, not {len(text)}")
    if not is_printable(text):
        raise invalid_field(field, "must be one line of printable characters")
    return text


def is_printable(text: str) -> bool:
    """Returns whether all of the text can be shown on one line. Of the characters that cannot be
    seen by themselves, only JOINERS may be in it.
    """
    visible = without_joiners(text)
    return visible.isprintable() and bool(visible or not text)


def printable(text: str) -> str:
    """Returns what strangers wrote without what a terminal would obey: its characters that
    cannot be seen are written as escapes.
    """
    return (
        text
        if is_printable(text)
        else "".join(
            character if character.isprintable() else ascii(character)[1:-1] for character in text
        )
    )


def without_joiners(text: str) -> str:
    """Returns the text as it is compared by readers, who do not see whether joiners are there."""
    return text if text.isascii() else text.translate(_WITHOUT_JOINERS)


def shorten(text: str, most: int) -> str:
    """Returns the first `most` characters, with an ellipsis for the rest, so that a text that is
    cut says so.
    """
    return text if len(text) <= most else text[:most] + "…"


def invalid_field(field: str, message: str) -> InvalidRequest:
    """Returns the error for one bad value. `message` goes on after the field's name. If it ends
    with the sentence of another error, its full stop is there already.
    """
    without_stop = message.removesuffix(".")
    return InvalidRequest(f"{field} {without_stop}.", fields=[FieldError(field, message)])


def duration_in_words(span_ms: int) -> str:
    """Returns how long something lasted, in words."""
    seconds = max(span_ms, 0) // 1_000
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2_880 else f"{minutes // 1_440} days"
