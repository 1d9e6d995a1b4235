"""Proves the sums by hour: over all hours that are added up and still shown, they must be what the
entries add up to, of each account, type and currency.
"""

from itertools import islice
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import HOUR_MS
from heliograph.base.paging import first_id_of
from heliograph.wallet.ledger_hours import first_kept, last_added_up
from heliograph.wallet.ledger_sides_sql import sides_of
from heliograph.wallet.tables import EVERY_ACCOUNT, ledger_entries, ledger_hours
from heliograph.wallet.verify import DISCREPANCIES_MAX, Discrepancy


class _SumsKey(NamedTuple):
    """Says which entries are added up. The id is raw."""

    account_id: str
    type: str
    currency: str


class _EntryFigures(NamedTuple):
    """Holds what entries add up to."""

    entries: int
    credits: int
    amount_minor: int

    def with_more(self, more: "_EntryFigures") -> "_EntryFigures":
        return _EntryFigures(
            self.entries + more.entries,
            self.credits + more.credits,
            self.amount_minor + more.amount_minor,
        )

    def __str__(self) -> str:
        return f"{self.entries} entries, {self.credits} credits, {self.amount_minor} minor units"


NOTHING: Final = _EntryFigures(0, 0, 0)


def verify_hours(tx: Connection, now_ms: int) -> list[Discrepancy]:
    """Returns what is wrong with the sums: nothing, if all agree, and at most DISCREPANCIES_MAX.

    Older hours than `first_kept` are not looked at. They are deleted one by one, and where nothing
    was added up for weeks, there are none between them and the first of the newer ones.
    """
    first_ms, last_ms = first_kept(now_ms), last_added_up(tx)
    if last_ms is None or last_ms < first_ms:
        return []
    columns = ledger_entries.c
    within = sa.and_(
        columns.id >= first_id_of(first_ms), columns.id < first_id_of(last_ms + HOUR_MS)
    )
    right = _sum_by_key(tx, sides_of(within), sa.func.count(), sa.true())
    for key, figures in list(right.items()):
        whole = key._replace(account_id=EVERY_ACCOUNT)
        right[whole] = right.get(whole, NOTHING).with_more(figures)
    in_span = sa.and_(ledger_hours.c.at_ms >= first_ms, ledger_hours.c.at_ms <= last_ms)
    stored = _sum_by_key(tx, ledger_hours, sa.func.sum(ledger_hours.c.entries), in_span)
    wrong = (
        Discrepancy(
            key.account_id,
            f"the sums by hour of {key.type}, {key.currency}, say {stored.get(key, NOTHING)}, but"
            f" the entries come to {right.get(key, NOTHING)}",
        )
        for key in sorted(right.keys() | stored.keys())
        if right.get(key) != stored.get(key)
    )
    return list(islice(wrong, DISCREPANCIES_MAX))


def _sum_by_key(
    tx: Connection,
    table: sa.Table | sa.Subquery,
    entries: sa.ColumnElement[Any],
    where: sa.ColumnElement[bool],
) -> dict[_SumsKey, _EntryFigures]:
    columns = table.c
    query = (
        sa.select(
            columns.account_id,
            columns.type,
            columns.currency,
            entries.label("entries"),
            sa.func.sum(columns.credits).label("credits"),
            sa.func.sum(columns.amount_minor).label("amount_minor"),
        )
        .where(where)
        .group_by(columns.account_id, columns.type, columns.currency)
    )
    return {
        _SumsKey(row.account_id, row.type, row.currency): _EntryFigures(
            int(row.entries), int(row.credits), int(row.amount_minor)
        )
        for row in tx.execute(query)
    }
