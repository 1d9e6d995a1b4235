"""Counts why messages of a large send have failed."""

from collections import Counter
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.states import FAILED
from heliograph.messages.tables import messages, sends

FAILURES_LOOKED_AT_MAX: Final = 20_000  # messages
SENDS_LOOKED_AT_MAX: Final = 4_000  # each has as many messages as get the same text
_RANGES_AT_ONCE: Final = 50  # a query for each would take most of the time of a page


class FailuresFound(NamedTuple):
    """Counts failed messages by their error code, the most frequent first, among the newest
    messages, of which so many were looked at.
    """

    by_code: dict[str, int]
    looked_at: int


class _IdRange(NamedTuple):
    """Holds the ids of sends that follow each other without a gap, and of their messages, as
    numbers.
    """

    first: int
    last: int

    def has(self, column: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
        """Returns the condition that an id is one of these."""
        first, last = ids.raw_of_number(self.first), ids.raw_of_number(self.last)
        return sa.and_(column > first, column <= last)


def failures_of(tx: Connection, account_id: str, group_id: int, *, sandbox: bool) -> FailuresFound:
    """Returns why messages of a group have failed. Only the newest ones of a large group are
    looked at.
    """
    of_group = (
        sa.select(sends.c.id, sends.c.message_count)
        .where(
            sends.c.account_id == account_id,
            sends.c.sandbox.is_(sandbox),
            sends.c.group_id == group_id,
        )
        .order_by(sends.c.id.desc())
    )
    looked_at, ranges = 0, list[_IdRange]()
    for send in tx.execute(of_group.limit(SENDS_LOOKED_AT_MAX)).all():
        if looked_at >= FAILURES_LOOKED_AT_MAX:
            break
        first = int(send.id, 16)
        last = first + send.message_count
        if ranges and ranges[-1].first == last + 1:  # they were made together
            last = ranges.pop().last
        ranges.append(_IdRange(first, last))
        looked_at += send.message_count
    found = Counter[str]()
    for start in range(0, len(ranges), _RANGES_AT_ONCE):
        within = [each.has(messages.c.id) for each in ranges[start : start + _RANGES_AT_ONCE]]
        of_sends = sa.select(messages.c.error_code, sa.func.count().label("failed")).where(
            sa.or_(*within), messages.c.status == FAILED
        )
        for row in tx.execute(of_sends.group_by(messages.c.error_code)):
            found[row.error_code] += row.failed
    return FailuresFound(dict(found.most_common()), looked_at)
