"""Finds and mends indexes of PostgreSQL whose building was interrupted (CREATE INDEX CONCURRENTLY).
Such an index is there and is kept up, but is of no use.
"""

import re
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

# One that somebody builds at this moment is invalid as well, until it is done.
_INVALID: Final = sa.text("""
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND c.relkind = 'i' AND pg_table_is_visible(c.oid)
        AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.relid = i.indrelid)
    ORDER BY c.relname""")
# of a REINDEX CONCURRENTLY: the index itself is beside it
_LEFT_OVER: Final = re.compile(r".*_cc(new|old)[0-9]*")


def find_invalid(tx: Connection) -> list[str]:
    """Returns their names."""
    return list(tx.execute(_INVALID).scalars())


def repair(alone: Connection, name: str) -> None:
    """Builds an index again beside all who write, or drops it when it is only what a rebuilding
    has left; in no transaction.
    """
    quoted = alone.dialect.identifier_preparer.quote(name)
    what = "DROP INDEX CONCURRENTLY" if _LEFT_OVER.fullmatch(name) else "REINDEX INDEX CONCURRENTLY"
    alone.execute(sa.text(f"{what} {quoted}"))
