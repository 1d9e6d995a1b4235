"""Reads the lines of a month's statement, oldest first: each entry or, where there are too
many, the sums of each day and type.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS, date_in_utc, rfc3339
from heliograph.base.paging import PageWanted, Span
from heliograph.wallet.account_ledger import page
from heliograph.wallet.files.statement import MonthStatement, sums_of

ENTRIES_LISTED_MAX: Final = 1_000  # some 25 pages, which are made in 0.2 s


class StatementLine(NamedTuple):
    """Describes an entry, or all of one type and day, with the signs of the account."""

    at: str
    type: str
    description: str
    credits: int
    amount_minor: int


class StatementLines(NamedTuple):
    """Holds the lines of a statement. `are_by_day` says whether each is the sum of the entries of a
    day and type.
    """

    lines: list[StatementLine]
    are_by_day: bool


def lines_of_statement(tx: Connection, account_id: str, of: MonthStatement) -> StatementLines:
    """Returns the lines between the opening and the closing figures of a statement."""
    if sum(each.entries for each in of.sums) > ENTRIES_LISTED_MAX:
        return StatementLines(_by_day(tx, account_id, of), are_by_day=True)
    entries = page(tx, account_id, PageWanted(ENTRIES_LISTED_MAX, None), of.span)
    lines = [
        StatementLine(
            rfc3339(entry.created_at_ms)[: len("2026-11-26T09:30")].replace("T", " "),
            entry.type,
            entry.description,
            entry.credits,
            entry.amount_minor,
        )
        for entry in reversed(entries)
    ]
    return StatementLines(lines, are_by_day=False)


def _by_day(tx: Connection, account_id: str, of: MonthStatement) -> list[StatementLine]:
    assert of.span.since_ms is not None
    assert of.span.until_ms is not None
    return [
        StatementLine(
            date_in_utc(day_ms),
            each.type,
            "1 entry" if each.entries == 1 else f"{each.entries:,} entries",
            each.credits,
            each.amount_minor,
        )
        for day_ms in range(of.span.since_ms, of.span.until_ms, DAY_MS)
        for each in sums_of(tx, account_id, Span(day_ms, day_ms + DAY_MS))
    ]
