"""The configuration has an epoch: one row that every change of a key, account, sender, route or
rate counts up in its own transaction.

Each process polls it, and drops what it has cached when it moved. A write reads it under its locks,
and judges again when it differs. So a change takes effect within a second everywhere (docs/api.md,
"API keys").
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.database import metadata

config = sa.Table(
    "config",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)


def bump(tx: Connection) -> None:
    """Says, in the transaction of a change, that cached configuration is out of date."""
    tx.execute(config.update().values(epoch=config.c.epoch + 1))


def epoch(tx: Connection) -> int:
    """Returns the epoch of the configuration, as this transaction sees it."""
    return int(tx.execute(sa.select(config.c.epoch)).scalar_one())
