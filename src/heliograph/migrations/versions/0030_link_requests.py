"""Stores email addresses that a sign-in link was asked for, until it is found out whose they
are.

The version before goes on working: it knows nothing of the new table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "link_requests",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=True, comment="of who asked for it"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("link_requests_by_age", "link_requests", ["expires_at_ms"])
