"""Finds accounts that have sent far more today than they used to by this hour.

It is read from roll-ups, so it counts what has left the queue. A day begins at midnight UTC, for
accounts of all time zones are compared.
"""

from collections import defaultdict
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS
from heliograph.messages.tables import rollups

DAYS_BEFORE: Final = 7
TIMES: Final = 3  # as many as on an average day before: one mailing more than usual is fewer
LEAST: Final = 500  # messages today: below that, a multiple says nothing
LOOKED_AT_MAX: Final = 200  # accounts with the most messages today that are compared
_MESSAGES: Final = rollups.c.sent + rollups.c.delivered + rollups.c.failed


class SuddenVolume(NamedTuple):
    """Counts an account's live messages from midnight to now, and in the same hours of an average
    day of the seven before. `account_id` is raw.
    """

    account_id: str
    today: int
    before: float

    @property
    def times(self) -> float | None:
        """Returns today's messages divided by those of before; None if there were none before."""
        return self.today / self.before if self.before else None


def sudden_volumes(tx: Connection, now_ms: int) -> list[SuddenVolume]:
    """Returns accounts with at least LEAST messages today, and TIMES as many as before. Those with
    the most messages come first.
    """
    columns = rollups.c
    midnight_ms = now_ms - now_ms % DAY_MS
    query = (
        sa.select(columns.account_id, sa.func.sum(_MESSAGES).label("messages"))
        .where(
            columns.quarter_ms >= midnight_ms,
            columns.quarter_ms <= now_ms,
            columns.sandbox.is_(False),
        )
        .group_by(columns.account_id)
        .having(sa.func.sum(_MESSAGES) >= LEAST)
        .order_by(sa.desc("messages"), columns.account_id)
        .limit(LOOKED_AT_MAX)
    )
    today = {row.account_id: int(row.messages) for row in tx.execute(query)}
    before = _before(tx, list(today), midnight_ms, now_ms)
    found = [
        SuddenVolume(account_id, messages, before[account_id] / DAYS_BEFORE)
        for account_id, messages in today.items()
    ]
    return [each for each in found if each.today >= TIMES * each.before]


def _before(
    tx: Connection, account_ids: list[str], midnight_ms: int, now_ms: int
) -> dict[str, int]:
    """Returns the sums of the same hours of the days before. The quarter that is not over
    counts whole there, so that nobody is named too early.
    """
    columns = rollups.c
    into_day_ms = now_ms - midnight_ms
    same_hours = [
        columns.quarter_ms.between(
            midnight_ms - day * DAY_MS, midnight_ms - day * DAY_MS + into_day_ms
        )
        for day in range(1, DAYS_BEFORE + 1)
    ]
    query = (
        sa.select(columns.account_id, sa.func.sum(_MESSAGES).label("messages"))
        .where(
            columns.account_id.in_(account_ids),
            columns.sandbox.is_(False),
            columns.quarter_ms >= midnight_ms - DAYS_BEFORE * DAY_MS,
            columns.quarter_ms < midnight_ms,
            sa.or_(*same_hours),
        )
        .group_by(columns.account_id)
    )
    sums: dict[str, int] = defaultdict(int)
    for row in tx.execute(query):
        sums[row.account_id] = int(row.messages)
    return sums
