"""A statement is what a month's entries of an account's ledger add up to, by their types, between
what the wallet held before and after.
"""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.csv.cells import DELIMITER, line_of, neutralize
from heliograph.base.paging import PageWanted, Span, first_id_of
from heliograph.base.short_texts import invalid_field
from heliograph.wallet.account_ledger import page
from heliograph.wallet.ledger_sides_sql import SEEN_FROM_THERE
from heliograph.wallet.money import to_number
from heliograph.wallet.tables import ENTRY_TYPES, ledger_entries
from heliograph.wallet.wallet import Figures, wallet_of

COLUMNS: Final = ("month", "line", "entries", "credits", "amount", "currency")
MONTHS_IN_YEAR: Final = 12
# names of files have it
_MONTH: Final = re.compile(r"(19[7-9]|[2-9][0-9]{2})[0-9]-[0-9]{2}", re.ASCII)


class EntrySums(NamedTuple):
    """Adds up a month's entries of one type, with the signs of the account."""

    type: str
    entries: int
    credits: int
    amount_minor: int


class MonthStatement(NamedTuple):
    """Holds a month of an account's ledger. `opening` and `closing` are what the wallet held when
    the month began and ended.
    """

    month: str
    span: Span
    currency: str
    opening: Figures
    sums: list[EntrySums]
    closing: Figures

    @property
    def is_proven(self) -> bool:
        """Returns whether the opening figures and the entries add up to the closing ones."""
        return self.closing == Figures(
            self.opening.balance_minor + sum(of_type.amount_minor for of_type in self.sums),
            self.opening.sms_credits + sum(of_type.credits for of_type in self.sums),
        )


def read_month(month: str) -> Span:
    """Returns the time of a month in UTC, such as 2026-11, which has begun. Raises
    InvalidRequest.
    """
    try:
        if not _MONTH.fullmatch(month):
            raise ValueError
        begins = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
        year, index = divmod(begins.year * MONTHS_IN_YEAR + begins.month, MONTHS_IN_YEAR)
        ends = begins.replace(year=year, month=index + 1)
    except ValueError as error:
        raise invalid_field(
            "month", f"must be a year and a month such as 2026-11, not {month[:20]!r}"
        ) from error
    since_ms, until_ms = int(begins.timestamp()) * 1_000, int(ends.timestamp()) * 1_000
    if since_ms > clock.now_ms():
        raise invalid_field("month", f"must be a month that has begun (in UTC), not {month!r}")
    return Span(since_ms, until_ms)


def statement(tx: Connection, account_id: str, month: str) -> MonthStatement:
    """Returns the statement of a month, such as 2026-11. It is read by several statements, which
    must see one moment (`Database.snapshot`). Raises NotFound, InvalidRequest.
    """
    span = read_month(month)
    return MonthStatement(
        month,
        span,
        wallet_of(tx, account_id).currency,
        _figures_before(tx, account_id, span.since_ms),
        sums_of(tx, account_id, span),
        _figures_before(tx, account_id, span.until_ms),
    )


def sums_of(tx: Connection, account_id: str, span: Span) -> list[EntrySums]:
    """Adds up an account's entries of a time that has both ends, by their types. Types without an
    entry are left out.
    """
    sums = {entry_type: EntrySums(entry_type, 0, 0, 0) for entry_type in ENTRY_TYPES}
    columns = ledger_entries.c
    others = sa.and_(
        columns.counterpart_id == account_id, columns.counterpart_credits_after.is_not(None)
    )
    for whose, sign in ((columns.account_id == account_id, 1), (others, -1)):
        for found in _sum_entries(tx, whose, span):
            entry_type = found.type if sign > 0 else SEEN_FROM_THERE[found.type]
            known = sums[entry_type]
            sums[entry_type] = EntrySums(
                entry_type,
                known.entries + found.entries,
                known.credits + sign * found.credits,
                known.amount_minor + sign * found.amount_minor,
            )
    return [of_type for of_type in sums.values() if of_type.entries]


def statement_file(of: MonthStatement) -> str:
    """Returns a statement as CSV: a line for each type of entry, between the two figures."""
    lines = [
        line_of(COLUMNS, DELIMITER),
        _file_line(of, "opening", "", of.opening),
        *(
            _file_line(of, each.type, str(each.entries), Figures(each.amount_minor, each.credits))
            for each in of.sums
        ),
        _file_line(of, "closing", "", of.closing),
    ]
    return "".join(lines)


def _file_line(of: MonthStatement, line: str, entries: str, figures: Figures) -> str:
    amount = str(to_number(figures.balance_minor, of.currency))
    cells = (neutralize(of.month), line, entries, str(figures.sms_credits), amount, of.currency)
    return line_of(cells, DELIMITER)


def _sum_entries(tx: Connection, whose: sa.ColumnElement[bool], span: Span) -> list[EntrySums]:
    assert span.since_ms is not None
    assert span.until_ms is not None
    columns = ledger_entries.c
    query = (
        sa.select(
            columns.type,
            sa.func.count().label("entries"),
            sa.func.sum(columns.credits).label("credits"),
            sa.func.sum(columns.amount_minor).label("amount_minor"),
        )
        # an entry's id is made of its time, so a month is a range of the index
        .where(
            whose,
            columns.id >= first_id_of(span.since_ms),
            columns.id < first_id_of(span.until_ms),
        )
        .group_by(columns.type)
    )
    return [
        EntrySums(row.type, row.entries, int(row.credits), int(row.amount_minor))
        for row in tx.execute(query)
    ]


def _figures_before(tx: Connection, account_id: str, at_ms: int | None) -> Figures:
    last = page(tx, account_id, PageWanted(1, None), Span(None, at_ms))
    return next(
        (Figures(entry.balance_after_minor, entry.credits_after) for entry in last), Figures(0, 0)
    )
