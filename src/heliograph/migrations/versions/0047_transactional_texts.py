"""Stores which accounts may send transactional texts, which reach people who have opted out.
None may until the operator says so.

The version before goes on working: it makes accounts that may not.
"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.add_column(
        "accounts",
        sa.Column(
            "transactional",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="it may send texts that reach who has opted out",
        ),
    )
