"""Lets a long transaction see one moment."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.postgresql.answer_time import lift_answer_limit


def read_one_snapshot(tx: Connection) -> None:
    """Lets all queries of the transaction see one moment, and take their time. It is called
    first in a transaction that verifies beside a running service.
    """
    if tx.dialect.name == "postgresql":
        tx.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        tx.execute(sa.text("SET LOCAL statement_timeout = 0"))
        lift_answer_limit(tx)
