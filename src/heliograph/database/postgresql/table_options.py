"""Tables keep the options that only PostgreSQL has as their `info`, and so do indexes.

SQLAlchemy loads its whole dialect of PostgreSQL when a table is described with one of its options,
and a command on SQLite would do so too. The migrations spell out their own options, so only the
test that compares their tables with the described ones tells SQLAlchemy these options.
"""

from typing import Any

import sqlalchemy as sa


def only_where(predicate: str) -> dict[str, Any]:
    """Returns the arguments that make an index have only the rows for which this SQL is true."""
    return {
        "sqlite_where": sa.text(predicate),
        "info": {"postgresql_where": sa.text(predicate)},
    }
