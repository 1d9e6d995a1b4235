"""PostgreSQL's partitions of `messages`, one a month, are made well ahead of the clock.

Attaching one takes a lock of the default partition that nobody shares. While such a lock is waited
for, everything that comes later waits behind it, the API and the carriers' turns too. So it is
waited for LOCK_MS at most, and asked for again: there are months to spare.
"""

from datetime import UTC, datetime
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from heliograph.database.database import Database
from heliograph.database.outage import is_conflict
from heliograph.database.write_probe import require_confirmed

MONTHS_AHEAD: Final = 3
LOCK_MS: Final = 50  # as long as whoever sends may have to wait behind us


class MonthPartition(NamedTuple):
    """Describes a partition that is to be: its name, its lowest id, and the lowest one behind
    it.
    """

    name: str
    first_id: str
    next_id: str


def month_of(at_ms: int) -> int:
    """Returns the month (UTC) of a moment, counted from the year 0."""
    moment = datetime.fromtimestamp(at_ms / 1_000, UTC)
    return moment.year * 12 + moment.month - 1


def missing_months(tx: Connection, now_ms: int) -> list[MonthPartition]:
    """Returns this month and the next MONTHS_AHEAD, as far as they have no partition yet."""
    this_month = month_of(now_ms)
    wanted = [
        MonthPartition(
            f"messages_{number // 12}_{number % 12 + 1:02d}", _uuid(number), _uuid(number + 1)
        )
        for number in range(this_month, this_month + MONTHS_AHEAD + 1)
    ]
    return [
        month
        for month in wanted
        if tx.execute(sa.text("SELECT to_regclass(:name)"), {"name": month.name}).scalar() is None
    ]


def make_months(db: Database, now_ms: int) -> list[str]:
    """Makes the partitions that are missing, each in a transaction of its own. Returns the names of
    those that were not made this time, because a lock was not to be had within LOCK_MS. Raises
    Unavailable.
    """
    with db.read() as tx:
        months = missing_months(tx, now_ms)
    return [month.name for month in months if not _try(db, month)]


def _try(db: Database, month: MonthPartition) -> bool:
    require_confirmed(db)  # a commit that no standby confirms would keep its locks
    try:
        with db.write() as tx:
            tx.execute(sa.text(f"SET LOCAL lock_timeout = {LOCK_MS}"))
            make_month(tx, month)
    # a row of this month has come to the default partition just now: the next try moves it
    except IntegrityError:
        return False
    except sa.exc.DBAPIError as error:
        if not is_conflict(error):
            raise
        return False
    return True


def make_month(tx: Connection, month: MonthPartition) -> None:
    """Makes one partition. What a wrong clock, or a month that nobody prepared for, has left in the
    default partition moves into it.

    Attaching an empty table shares `messages` with all who read and write it; only the default
    partition is locked, while it is looked through for rows of the month (it is empty, unless a
    clock is wrong). Rows that have to move are nobody's in between, so then all of `messages` is
    locked.
    """
    within = f"id >= '{month.first_id}' AND id < '{month.next_id}'"
    tx.execute(
        sa.text(
            f"CREATE TABLE {month.name} (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS"
            " INCLUDING COMMENTS) WITH (fillfactor = 70)"
        )
    )
    left = f"SELECT EXISTS (SELECT FROM messages_default WHERE {within})"
    if tx.execute(sa.text(left)).scalar_one():
        tx.execute(sa.text("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE"))
        tx.execute(
            sa.text(
                f"WITH moved AS (DELETE FROM messages_default WHERE {within} RETURNING *)"
                f" INSERT INTO {month.name} SELECT * FROM moved"
            )
        )
    tx.execute(
        sa.text(
            f"ALTER TABLE messages ATTACH PARTITION {month.name}"
            f" FOR VALUES FROM ('{month.first_id}') TO ('{month.next_id}')"
        )
    )


def first_id_of_month(months: int) -> str:
    """Returns the lowest id (raw) of a month, counted from January of the year 0."""
    begins = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return f"{int(begins.timestamp() * 1_000) << 80:032x}"


def _uuid(months: int) -> str:
    digits = first_id_of_month(months)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
