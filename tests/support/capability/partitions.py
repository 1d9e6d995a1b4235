"""Makes the months of messages that PostgreSQL has none for yet."""

from sqlalchemy.engine import Connection

from heliograph.database.partitions import make_month, missing_months


def make_partitions(tx: Connection, now_ms: int) -> None:
    """Makes all partitions that are missing, in the caller's transaction, however long their locks
    take.
    """
    for month in missing_months(tx, now_ms):
        make_month(tx, month)
