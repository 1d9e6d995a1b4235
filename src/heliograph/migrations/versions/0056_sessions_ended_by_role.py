"""Stores of a session that it has ended because its user got another role.

The version before ends such a session by deleting its row, and takes a row that is marked for one
that has ended by itself.
"""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    op.add_column(
        "user_sessions",
        sa.Column(
            "is_ended_by_role",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="its user has got another role; it opens nothing, and says why it has ended",
        ),
    )
