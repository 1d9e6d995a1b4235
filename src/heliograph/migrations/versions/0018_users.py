"""Adds users of the portal, their roles in accounts, their sign-in links and their sessions.

The version before goes on working: it knows nothing of the new tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("signed_in_at_ms", sa.BigInteger(), nullable=True, comment="the last time"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
    )
    op.create_table(
        "members",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('owner', 'developer', 'marketer', 'viewer')", name="members_role"
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("user_id", "account_id"),
    )
    op.create_index("members_by_account", "members", ["account_id", "user_id"])
    op.create_table(
        "sign_in_links",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("sign_in_links_by_user", "sign_in_links", ["user_id"])
    op.create_index("sign_in_links_by_age", "sign_in_links", ["expires_at_ms"])
    op.create_table(
        "user_sessions",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("began_at_ms", sa.BigInteger(), nullable=False, comment="the sign-in"),
        sa.Column("seen_at_ms", sa.BigInteger(), nullable=False, comment="to the minute"),
        sa.Column(
            "expires_at_ms", sa.BigInteger(), nullable=False, comment="unless it is used before"
        ),
        sa.Column(
            "seen_by", sa.String(length=200), nullable=False, comment="User-Agent, shortened"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("user_sessions_by_user", "user_sessions", ["user_id"])
    op.create_index("user_sessions_by_age", "user_sessions", ["expires_at_ms"])
