"""Operators who look at the portal of an account.

The version before goes on working: it lets nobody look.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0032"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "portal_views",
        sa.Column("id", ID, nullable=False),
        sa.Column("session_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column(
            "account", sa.String(length=64), nullable=False, comment="its text id, as logs name it"
        ),
        sa.Column("ends_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_sha256"),
    )
