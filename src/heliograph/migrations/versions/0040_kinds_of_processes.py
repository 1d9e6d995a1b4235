"""Lets the comment of a process's kind name the console too.

Nobody reads it but people. Only PostgreSQL keeps comments; SQLite would copy the table for it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
contracts = "a comment alone, which no version reads"
readable_by = "0010"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column(
            "workers",
            "kind",
            existing_type=sa.String(length=16),
            existing_nullable=False,
            comment="serve, api, worker, carrier, scheduler or console",
            existing_comment="serve, api, worker, carrier or scheduler",
        )
