"""Names, reasons and references: short texts on one line, the same everywhere they are stored."""

from heliograph.base.errors import FieldError, InvalidRequest


def one_line(field: str, value: str, *, most: int) -> str:
    """`value` without spaces at its ends: 1..`most` printable characters. Raises InvalidRequest.

    Control characters would forge lines in logs and tables, NUL cannot be stored by PostgreSQL, a lone surrogate has no UTF-8 form."""
    text = value.strip()
    if not 1 <= len(text) <= most:
        raise refused(field, f"must have 1 to {most} characters, not {len(text)}")
    if not text.isprintable():
        raise refused(field, "must be one line of printable characters")
    return text


def cut(text: str, most: int) -> str:
    """Its first `most` characters, and an ellipsis for the rest: what is cut says so."""
    return text if len(text) <= most else text[:most] + "…"


def refused(field: str, message: str) -> InvalidRequest:
    """The error for one bad value: `message` goes on after the field's name."""
    return InvalidRequest(f"{field} {message}.", fields=[FieldError(field, message)])
