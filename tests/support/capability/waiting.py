"""Waits until somebody beside waits for the transaction of a test."""

from concurrent.futures import Future
from typing import Any, Final

import sqlalchemy as sa

from heliograph.database.database import Database
from tests.support.polling import wait_until

_WAIT: Final = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND wait_event_type = 'Lock'"
)


def until_it_waits(db: Database, beside: Future[Any]) -> None:
    """Returns when the other one waits for this transaction. (On SQLite it does from the start.)"""
    if db.postgresql:
        wait_until(lambda: beside.done() or _waiting(db) > 0, "the other one waits")


def until_so_many_wait(db: Database, count: int) -> None:
    """Returns when so many sessions wait. (On SQLite they do from the start.)"""
    if db.postgresql:
        wait_until(lambda: _waiting(db) >= count, f"{count} sessions wait")


def _waiting(db: Database) -> int:
    with db.read() as tx:
        return int(tx.execute(_WAIT).scalar_one())
