"""Finds which schema a database has, and whether this version can work with it, even if a newer
version made it.

The database says so itself (`installation.readable_by`), for a version cannot know what comes after
it. None of this needs Alembic, which takes a third of a second to load.
"""

from functools import cache
from importlib import resources
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.database import metadata

_VERSIONS: Final = "heliograph.migrations.versions"

installation = sa.Table(
    "installation",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "readable_by",
        sa.String(8),
        nullable=False,
        comment="the oldest schema whose version can work with the present one",
    ),
    sa.Column(
        "home",
        sa.String(64),
        nullable=True,
        comment="where it was when it was last served; null: it has never been",
    ),
    sa.CheckConstraint("id = 1", name="installation_id"),
)


@cache
def newest_version() -> str:
    """Returns the number of this version's last migration: what its file's name begins with."""
    names = (entry.name for entry in resources.files(_VERSIONS).iterdir())
    return max(name.split("_")[0] for name in names if name[0].isdigit())


def stored_version(tx: Connection) -> str | None:
    """Returns the number of the last migration that the database has had, or None if it has had
    none.
    """
    if not sa.inspect(tx).has_table("alembic_version"):
        return None
    found = tx.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def is_current(tx: Connection) -> bool:
    """Says whether this version can work with the database: its schema is this version's, or a
    newer one that leaves all that this version needs.
    """
    return is_usable(tx, stored_version(tx))


def is_usable(tx: Connection, found: str | None) -> bool:
    """Says whether this version can work with the schema `found`: its own, or a newer one that
    leaves all that it needs as it was.
    """
    if found is None or found < newest_version():
        return False
    return (
        found == newest_version()
        or tx.execute(sa.select(installation.c.readable_by)).scalar_one() <= newest_version()
    )
