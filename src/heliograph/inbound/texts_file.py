"""Writes texts that came in as lines of a CSV file, with the fields of GET /inbound. It is pure."""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.base.csv.cells import DELIMITER, line_of, neutralize
from heliograph.inbound.read import InboundText, as_inbound_record

# texts that are read at once, and so in memory
PAGE: Final = 2_000
COLUMNS: Final = (
    "received_at",
    "from",
    "to",
    "text",
    "encoding",
    "complete",
    "keyword",
    "opt_out_suspected",
    "in_reply_to",
    "parts",
    "parts_received",
    "id",
)


def first_line() -> str:
    """Returns the names of the columns."""
    return line_of(COLUMNS, DELIMITER)


def lines(texts: Sequence[InboundText]) -> str:
    """Returns a line for each text. What retention has erased is an empty cell."""
    return "".join(_line(as_inbound_record(text)) for text in texts)


def _line(record: dict[str, Any]) -> str:
    return line_of((neutralize(_cell(record[name])) for name in COLUMNS), DELIMITER)


def _cell(value: str | int | bool | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
