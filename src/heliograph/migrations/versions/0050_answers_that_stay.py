"""Stores which of our answers no later opt-out withdraws: those that confirm one, and those to
HELP.

The version before goes on working: it stores no answers. What is queued meanwhile may be withdrawn.
"""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    op.add_column(
        "answering_sends",
        sa.Column(
            "outlives_opt_outs",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="no opt-out that comes later withdraws it",
        ),
    )
