"""The entries of an account's ledger become lines of a CSV file, with the fields of GET
/wallet/transactions. No database is read here.
"""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.base.csv.cells import DELIMITER, line_of, neutralize
from heliograph.wallet.entry import Entry
from heliograph.wallet.ledger import as_record

# entries that are read at once, and so in memory
PAGE: Final = 2_000
COLUMNS: Final = (
    "created_at",
    "type",
    "description",
    "reference",
    "credits",
    "credits_after",
    "amount",
    "balance_after",
    "currency",
    "id",
)
# a program adds these up, so a sign before one stays; no text of anybody's is in them
_FIGURES: Final = ("credits", "credits_after", "amount", "balance_after")


def first_line() -> str:
    """Returns the names of the columns."""
    return line_of(COLUMNS, DELIMITER)


def lines(entries: Sequence[Entry]) -> str:
    """Returns a line for each entry."""
    return "".join(_line(as_record(entry)) for entry in entries)


def _line(record: dict[str, Any]) -> str:
    return line_of((_cell(name, record[name]) for name in COLUMNS), DELIMITER)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    return str(value) if name in _FIGURES else neutralize(str(value))
