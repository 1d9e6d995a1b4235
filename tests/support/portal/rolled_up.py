"""Stores roll-ups by itself, without the messages that they would be of."""

from typing import Any

import sqlalchemy as sa

from heliograph.database.database import Database
from heliograph.messages.reports.count_rollups import COUNTS, count_quarter, find_marked
from heliograph.messages.tables import QUARTER_MS, rollups


def rolled_up(db: Database, account_id: str, at_ms: int, **values: Any) -> None:
    """Stores a roll-up of the quarter of an hour of this moment."""
    row = {
        "account_id": account_id,
        "sandbox": False,
        "quarter_ms": at_ms - at_ms % QUARTER_MS,
        "country_code": "GH",
        "sender": "AMINA",
        "type": "sms",
        "group_id": 0,
        **dict.fromkeys(COUNTS, 0),
    }
    with db.write() as tx:
        tx.execute(sa.insert(rollups).values(row | values))


def count_all(db: Database) -> None:
    """Counts all quarters that are marked, now. The marks stay, as they do in a running service."""
    with db.read() as tx:
        found = find_marked(tx)
    for quarter in found:
        count_quarter(db, quarter, quarter.until_ms)


def forget_rollups(db: Database, account_id: str) -> None:
    """Deletes all roll-ups of live mode."""
    with db.write() as tx:
        tx.execute(
            sa.delete(rollups).where(
                rollups.c.account_id == account_id, rollups.c.sandbox.is_(False)
            )
        )
