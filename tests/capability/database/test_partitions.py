"""Months of messages on PostgreSQL are made ahead, and after the fact for rows that found none."""

from datetime import UTC, datetime

import sqlalchemy as sa

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.messages.tables import messages
from tests.support.capability.partitions import make_partitions

A_YEAR_AHEAD_MS = 366 * 86_400_000


def test_messages_of_a_month_that_nobody_prepared_move_into_it_once_it_is_made(
    postgresql_url: str,
) -> None:
    db = Database(postgresql_url)
    later_ms = int(datetime.now(UTC).timestamp() * 1_000) + A_YEAR_AHEAD_MS
    raw = ids.raw_of_number(ids.new_number(later_ms))
    with db.write() as tx:
        tx.execute(
            messages.insert().values(
                id=raw,
                send_id=raw,
                account_id=raw,
                sandbox=False,
                recipient=233201234567,
                carrier_id=1,
                status="queued",
                segments=1,
                credits=1,
            )
        )
        assert _partition_of(tx, raw) == "messages_default"
        make_partitions(tx, later_ms)
        month = datetime.fromtimestamp(later_ms / 1_000, UTC)
        assert _partition_of(tx, raw) == f"messages_{month:%Y_%m}"
        make_partitions(tx, later_ms)  # safe to repeat
        tx.rollback()
    db.close()


def _partition_of(tx: sa.Connection, raw: str) -> str:
    return str(
        tx.execute(
            sa.select(sa.text("tableoid::regclass::text"))
            .select_from(messages)
            .where(messages.c.id == raw)
        ).scalar_one()
    )
