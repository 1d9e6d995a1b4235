"""Stores which operators look at the portal of an account, and adds documents of sender IDs.

The version before goes on working: it lets nobody look, and attaches nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"

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
    op.create_table(
        "sender_documents",
        sa.Column("id", ID, nullable=False),
        sa.Column("sender_id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False, comment="whose sender ID it is"),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("media_type", sa.String(length=32), nullable=False, comment="by the content"),
        sa.Column("octets", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["sender_id"], ["senders.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sender_documents_by_sender", "sender_documents", ["sender_id", "id"])
    op.create_index("sender_documents_by_account", "sender_documents", ["account_id"])
