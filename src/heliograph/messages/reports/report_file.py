"""Writes the messages of a report as lines of a CSV file, with the fields of GET /reports. It is
pure.
"""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.base.csv.cells import DELIMITER, line_of, neutralize
from heliograph.messages.read.message import Message, as_record

# messages that are read at once, and so in memory
PAGE: Final = 2_000
COLUMNS: Final = (
    "created_at",
    "recipient",
    "sender",
    "status",
    "error_code",
    "error_message",
    "message",
    "type",
    "encoding",
    "segments",
    "credits",
    "credits_refunded",
    "country_code",
    "reference",
    "sent_at",
    "delivered_at",
    "failed_at",
    "id",
    "send_id",
    "campaign_id",
)


def first_line() -> str:
    """Returns the names of the columns."""
    return line_of(COLUMNS, DELIMITER)


def lines(messages: Sequence[Message]) -> str:
    """Returns a line for each message. What is not shown, such as the text of a one-time password,
    is an empty cell.
    """
    return "".join(_line(as_record(message)) for message in messages)


def _line(record: dict[str, Any]) -> str:
    error = record["error"] or {}
    fields = {**record, "error_code": error.get("code"), "error_message": error.get("message")}
    cells = ("" if fields[name] is None else str(fields[name]) for name in COLUMNS)
    return line_of((neutralize(cell) for cell in cells), DELIMITER)
