"""Adds passwords of users, the browsers that a user has signed in with, and how often
passwords were tried.

The version before goes on working: it knows nothing of the new tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "passwords",
        sa.Column("user_id", ID, nullable=False),
        sa.Column(
            "argon2", sa.String(length=128), nullable=False, comment="with its salt and parameters"
        ),
        sa.Column("set_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "known_browsers",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("sha256", "user_id"),
    )
    op.create_index("known_browsers_by_user", "known_browsers", ["user_id"])
    op.create_index("known_browsers_by_age", "known_browsers", ["expires_at_ms"])
    op.create_table(
        "password_tries",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("password_tries_by_age", "password_tries", ["until_ms"])
