"""Says how far back one page looks for messages to a number, of all accounts.

Messages have no index by recipient alone, which every send would pay for
(docs/decisions/console.md, O20). So each account is looked up, and PostgreSQL has an index for each
month.
"""

from datetime import UTC, datetime
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import first_id_of
from heliograph.messages.tables import messages

LOOKED_UP_MAX: Final = 10_000  # accounts in months: each takes 2.5 µs
# The first page goes back at least so far, or else it would look at hours when a month begins.
LOOKED_BACK_MS: Final = 7 * DAY_MS


class TimeSlice(NamedTuple):
    """Describes whole months, from `since_ms` on, whose first id is `first_id` (raw). Says whether
    there is any message before them.
    """

    since_ms: int
    first_id: str
    is_more_before: bool


def slice_of(tx: Connection, before: str | None, now_ms: int) -> TimeSlice:
    """Returns the months that a page looks at: the newest ones, or those below an id (raw)."""
    count = tx.execute(sa.select(sa.func.count()).select_from(accounts)).scalar_one()
    until_ms = now_ms - LOOKED_BACK_MS
    if before is not None:  # which may be an id that nobody made
        until_ms = min(now_ms, ids.made_at_ms(int(before, 16) - 1))
    since_ms = _month_began_ms(until_ms, earlier=max(1, LOOKED_UP_MAX // max(1, count)) - 1)
    first_id = first_id_of(since_ms)
    older = sa.select(messages.c.id).where(messages.c.id < first_id)
    newest_older = tx.execute(older.order_by(messages.c.id.desc()).limit(1)).first()
    return TimeSlice(since_ms, first_id, newest_older is not None)


def _month_began_ms(at_ms: int, *, earlier: int) -> int:
    """Returns when the month of a time began in UTC, or one that was so many months earlier. No
    month is before the first one that ids have.
    """
    moment = datetime.fromtimestamp(max(at_ms, 0) / 1_000, UTC)
    months = max(1970 * 12, moment.year * 12 + moment.month - 1 - earlier)
    began = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return int(began.timestamp()) * 1_000
