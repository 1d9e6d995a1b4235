"""Tells how the database does: what it is, how large it has grown, and who is connected to it."""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.schema import stored_version

_POSTGRESQL = sa.text("""
    SELECT 'PostgreSQL ' || current_setting('server_version') AS kind,
        pg_database_size(current_database()) AS octets,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
            AS connections,
        current_setting('max_connections')::integer AS connections_max,
        (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock') AS waiting""")
_SQLITE = sa.text("""
    SELECT 'SQLite ' || sqlite_version() AS kind, page_count * page_size AS octets,
        NULL AS connections, NULL AS connections_max, NULL AS waiting
    FROM pragma_page_count(), pragma_page_size()""")


class DatabaseNow(NamedTuple):
    """Tells how the database does. SQLite has no server, so it has no connections."""

    kind: str  # with its version
    schema: str | None
    octets: int
    connections: int | None  # of all its databases
    connections_max: int | None
    waiting: int | None  # connections that wait for a lock


def database_state(tx: Connection) -> DatabaseNow:
    """Returns how the database does."""
    row = tx.execute(_POSTGRESQL if tx.dialect.name == "postgresql" else _SQLITE).one()
    return DatabaseNow(
        row.kind,
        stored_version(tx),
        int(row.octets),
        connections=row.connections,
        connections_max=row.connections_max,
        waiting=row.waiting,
    )
