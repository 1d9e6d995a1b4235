"""Adds up the ledger by hour, so that a page can show a month of ten million entries at once.

An hour is added up when it is over and no transaction can add an entry to it any more. What came
after the last such hour is read from the ledger itself, so figures are those of the moment.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.paging import CLOCK_SLACK_MS, first_id_of
from heliograph.wallet.ledger_sides_sql import sides_of
from heliograph.wallet.tables import EVERY_ACCOUNT, ledger_entries, ledger_hours

DAYS_SHOWN: Final = 30
HOURS_KEPT_MS: Final = 40 * DAY_MS  # the days that are shown, and some more
# An entry's id is made before its transaction is committed, which takes some seconds at most, and
# by clocks that may differ by so much.
COMPLETE_AFTER_MS: Final = 2 * CLOCK_SLACK_MS
# of entries that are read because no sums are there yet; more of them would keep a page waiting
READ_MS_MAX: Final = 3 * HOUR_MS


class HourSums(NamedTuple):
    """Adds up the entries of one account, type and currency in an hour, with the account's signs;
    a transfer counts for both of its accounts. `account_id` is raw.
    """

    account_id: str
    type: str
    currency: str
    entries: int
    credits: int
    amount_minor: int


class DaySums(NamedTuple):
    """Adds up the entries of one type and currency on a day in UTC."""

    day_ms: int
    type: str
    currency: str
    entries: int
    credits: int
    amount_minor: int


class SummedDays(NamedTuple):
    """Holds the sums of the last days, oldest first. The hours from `missing_from_ms` on are not
    added up yet, and not read either; it is None if nothing is missing.
    """

    days: list[DaySums]
    missing_from_ms: int | None


def due_hour(tx: Connection, now_ms: int) -> int | None:
    """Returns when the next hour began that is over, complete, and not added up yet, or None."""
    at_ms = _next_hour_with_entries(tx, _added_up_to(tx, now_ms))
    is_due = at_ms is not None and at_ms + HOUR_MS + COMPLETE_AFTER_MS <= now_ms
    return at_ms if is_due else None


def sums_of_hour(tx: Connection, at_ms: int) -> list[HourSums]:
    """Returns what the entries of an hour add up to."""
    sides = sides_of(_in_hour(at_ms))
    key = (sides.c.account_id, sides.c.type, sides.c.currency)
    query = sa.select(*key, *_figures(sides)).group_by(*key)
    return [
        HourSums(
            row.account_id,
            row.type,
            row.currency,
            row.entries,
            int(row.credits),
            int(row.amount_minor),
        )
        for row in tx.execute(query)
    ]


def store_hour(tx: Connection, at_ms: int, sums: list[HourSums], now_ms: int) -> None:
    """Stores the sums of an hour, of each account and of all, unless another process has. They
    replace sums of an older version, which leave out what accounts were given by transfers. The
    sums of the oldest hour are deleted if they have expired.
    """
    if not sums or _added_up_to(tx, now_ms) > at_ms:
        return
    whole: dict[tuple[str, str], HourSums] = {}
    for each in sums:
        key = (each.type, each.currency)
        known = whole.get(
            key, each._replace(account_id=EVERY_ACCOUNT, entries=0, credits=0, amount_minor=0)
        )
        whole[key] = known._replace(
            entries=known.entries + each.entries,
            credits=known.credits + each.credits,
            amount_minor=known.amount_minor + each.amount_minor,
        )
    rows = [
        {"at_ms": at_ms, "has_takers": True, **each._asdict()} for each in (*sums, *whole.values())
    ]
    tx.execute(sa.delete(ledger_hours).where(ledger_hours.c.at_ms == at_ms))
    tx.execute(ledger_hours.insert(), rows)
    oldest_ms = tx.execute(sa.select(sa.func.min(ledger_hours.c.at_ms))).scalar_one()
    if oldest_ms < now_ms - HOURS_KEPT_MS:
        tx.execute(sa.delete(ledger_hours).where(ledger_hours.c.at_ms == oldest_ms))


def summed_days(tx: Connection, account_id: str | None, now_ms: int) -> SummedDays:
    """Returns the sums of the last DAYS_SHOWN days: of an account (raw id), or of all. They are
    read by several statements, which must see one moment (`Database.snapshot`).
    """
    columns = ledger_hours.c
    today_ms = now_ms - now_ms % DAY_MS
    since_ms = today_ms - (DAYS_SHOWN - 1) * DAY_MS
    day_ms = columns.at_ms - columns.at_ms % DAY_MS
    added_up_to_ms = _added_up_to(tx, now_ms)
    query = (
        sa.select(
            day_ms.label("day_ms"),
            columns.type,
            columns.currency,
            sa.func.sum(columns.entries).label("entries"),
            sa.func.sum(columns.credits).label("credits"),
            sa.func.sum(columns.amount_minor).label("amount_minor"),
        )
        .where(
            columns.account_id == (account_id or EVERY_ACCOUNT),
            columns.at_ms >= since_ms,
            columns.at_ms < added_up_to_ms,
        )
        .group_by(day_ms, columns.type, columns.currency)
    )
    found = [_day_sums_of(row) for row in tx.execute(query)]
    at_ms = _next_hour_with_entries(tx, max(added_up_to_ms, since_ms))
    if at_ms is None:
        return SummedDays(_add_together(found), None)
    if at_ms < now_ms - READ_MS_MAX:
        return SummedDays(_add_together(found), at_ms)
    while at_ms <= now_ms:
        found += _read_hour(tx, at_ms, account_id)
        at_ms += HOUR_MS
    return SummedDays(_add_together(found), None)


class _DayKey(NamedTuple):
    day_ms: int
    type: str
    currency: str


def _add_together(sums: list[DaySums]) -> list[DaySums]:
    days: dict[_DayKey, DaySums] = {}
    for each in sums:
        key = _DayKey(each.day_ms, each.type, each.currency)
        known = days.get(key, each._replace(entries=0, credits=0, amount_minor=0))
        days[key] = known._replace(
            entries=known.entries + each.entries,
            credits=known.credits + each.credits,
            amount_minor=known.amount_minor + each.amount_minor,
        )
    return [days[key] for key in sorted(days)]


def _day_sums_of(row: Any) -> DaySums:
    return DaySums(
        int(row.day_ms),
        row.type,
        row.currency,
        entries=int(row.entries),
        credits=int(row.credits),
        amount_minor=int(row.amount_minor),
    )


def first_kept(now_ms: int) -> int:
    """Returns the first hour of which sums are made, if there are none yet."""
    return now_ms - now_ms % DAY_MS - HOURS_KEPT_MS + DAY_MS


def last_added_up(tx: Connection) -> int | None:
    """Returns the last hour that is added up, or None. All hours before it, from `first_kept` on,
    are added up, too.
    """
    columns = ledger_hours.c
    last_ms = tx.execute(
        sa.select(sa.func.max(columns.at_ms)).where(
            columns.account_id == EVERY_ACCOUNT, columns.has_takers
        )
    ).scalar()
    return None if last_ms is None else int(last_ms)


def _added_up_to(tx: Connection, now_ms: int) -> int:
    """Returns where the hours begin that are not added up yet."""
    last_ms = last_added_up(tx)
    return first_kept(now_ms) if last_ms is None else max(last_ms + HOUR_MS, first_kept(now_ms))


def _next_hour_with_entries(tx: Connection, from_ms: int) -> int | None:
    columns = ledger_entries.c
    query = sa.select(columns.id).where(columns.id >= first_id_of(from_ms))
    first = tx.execute(query.order_by(columns.id).limit(1)).scalar()
    if first is None:
        return None
    made_ms = ids.made_at_ms(int(first, 16))
    return made_ms - made_ms % HOUR_MS


def _read_hour(tx: Connection, at_ms: int, account_id: str | None) -> list[DaySums]:
    sides = sides_of(_in_hour(at_ms), account_id)
    key = (sides.c.type, sides.c.currency)
    query = sa.select(*key, *_figures(sides)).group_by(*key)
    day_ms = at_ms - at_ms % DAY_MS
    return [
        DaySums(
            day_ms, row.type, row.currency, row.entries, int(row.credits), int(row.amount_minor)
        )
        for row in tx.execute(query)
    ]


def _figures(sides: sa.Subquery) -> tuple[sa.ColumnElement[Any], ...]:
    return (
        sa.func.count().label("entries"),
        sa.func.sum(sides.c.credits).label("credits"),
        sa.func.sum(sides.c.amount_minor).label("amount_minor"),
    )


def _in_hour(at_ms: int) -> sa.ColumnElement[bool]:
    """Selects the entries of an hour. Their ids are made of their times, so it is a range of the
    index.
    """
    first, after = first_id_of(at_ms), first_id_of(at_ms + HOUR_MS)
    return sa.and_(ledger_entries.c.id >= first, ledger_entries.c.id < after)
