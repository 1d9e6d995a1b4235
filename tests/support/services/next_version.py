"""Makes up the version after this one: a copy of this one with two migrations more, for tests of
upgrades.
"""

import shutil
from pathlib import Path
from typing import Final

import heliograph
from heliograph.database.schema import newest_version

SCHEMA: Final = "9999"

# What an expansion may be: a column and a table that the version before does not know, and an index
# that is made beside all who write.
_COLUMN: Final = '''
"""A column for messages, and a table."""

import sqlalchemy as sa
from alembic import op

revision = "9998"
down_revision = "{before}"


def upgrade() -> None:
    op.add_column("messages", sa.Column("later", sa.String(8), nullable=True))
    op.add_column("sends", sa.Column("later", sa.Integer, nullable=False, server_default="0"))
    op.create_table("later_things", sa.Column("id", sa.Integer, primary_key=True))
'''
_INDEX: Final = '''
"""An index of sends."""

from alembic import op

revision = "9999"
down_revision = "9998"
transactional = False


def upgrade() -> None:
    op.create_index(
        "sends_by_later", "sends", ["later"], if_not_exists=True, postgresql_concurrently=True
    )
'''


def next_version(directory: Path) -> dict[str, str]:
    """Makes it in that directory. Returns what must be in the environment of a process
    that is to be of the next version.
    """
    package = directory / "heliograph"
    shutil.copytree(
        Path(heliograph.__path__[0]), package, ignore=shutil.ignore_patterns("__pycache__")
    )
    versions = package / "migrations" / "versions"
    (versions / "9998_later.py").write_text(_COLUMN.format(before=newest_version()))
    (versions / "9999_by_later.py").write_text(_INDEX)
    return {"PYTHONPATH": str(directory)}
