"""Limits how long PostgreSQL may take for an answer to a synchronous transaction."""

from typing import Any

import sqlalchemy as sa


def lift_answer_limit(tx: sa.Connection) -> None:
    """Lets what `tx` asks take as long as it does, until its connection is given back."""
    limit_answer_time(tx, None)


def limit_answer_time(tx: sa.Connection, seconds: float | None) -> None:
    """Gives what `tx` asks this long for an answer, each time, until its connection is given
    back. On SQLite it changes nothing.
    """
    if tx.dialect.name == "postgresql":
        connection: Any = tx.connection.driver_connection
        connection.answer_within_s = seconds
