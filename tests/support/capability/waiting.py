"""Waits until somebody beside waits for the transaction of a test."""

from concurrent.futures import Future
from typing import Any, Final

import sqlalchemy as sa

from heliograph.database.database import Database
from tests.support.capability.unreplicated import until

_WAIT: Final = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND wait_event_type = 'Lock'"
)


def until_it_waits(db: Database, beside: Future[Any]) -> None:
    """Until the other one waits for this transaction. (On SQLite it waits from its beginning.)"""
    if not db.postgresql:
        return

    def waits() -> bool:
        with db.read() as tx:
            return beside.done() or bool(tx.execute(_WAIT).scalar_one())

    until(waits, "the other one waits")
