"""Old months of messages on PostgreSQL are detached, then dropped. Sends wait for it as long as
LOCK_MS at most, and it tries again later.
"""

import re
from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.partitions import LOCK_MS, first_id_of_month
from heliograph.database.statements import Bool, Nothing, Row, Statement, Text
from heliograph.messages.retention.retention import MESSAGES, from_id, store_first_kept

_NAME: Final = re.compile(r"messages_([0-9]{4})_([0-9]{2})")


class StoredMonth(Row, frozen=True):
    """Names a table of one month's messages, and says whether it is still a partition of
    `messages`.
    """

    name: Text
    is_attached: Bool


# Says whether each table is still a partition. One that was detached is still to be dropped, or its
# drop was killed.
_TABLES: Final = """
    SELECT relname::text AS name, relispartition AS is_attached FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        AND relname LIKE 'messages\\_____\\___' ORDER BY relname"""
_MONTHS: Final = Statement(Nothing, StoredMonth, postgresql=_TABLES)


async def old_months(tx: HotTx, until: str) -> list[StoredMonth]:
    """Returns the months that end before the id `until` (raw), the oldest first."""
    return [month for month in await _MONTHS.rows(tx, Nothing()) if _end_of(month.name) <= until]


async def detach(tx: HotTx, month: str) -> None:
    """Detaches a month: nobody sees its messages any more, nor misses them, because both begin with
    the same commit. Raises what `is_conflict` names when it would have had to wait for longer than
    LOCK_MS.
    """
    await tx.fetch(f"SET LOCAL lock_timeout = {LOCK_MS}")
    await store_first_kept(tx, MESSAGES, _end_of(month))
    await tx.fetch(f"ALTER TABLE messages DETACH PARTITION {month}")


async def drop(tx: HotTx, month: str) -> None:
    """Drops a month in a transaction of its own: removing the files of a large table takes a
    while, in which nobody else needs it.
    """
    if _end_of(month) <= await from_id(tx, MESSAGES):
        await tx.fetch(f"DROP TABLE {month}")


def _end_of(month: str) -> str:
    """Returns the first id (raw) of the next month."""
    found = _NAME.fullmatch(month)
    return first_id_of_month(int(found[1]) * 12 + int(found[2])) if found else "g"  # after all ids
