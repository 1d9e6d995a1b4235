"""Stores which accounts were closed, and when.

The version before goes on working: it takes a closed account for a suspended one, and its wallet
for an empty one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column(
        "accounts",
        sa.Column(
            "closed_at_ms",
            sa.BigInteger(),
            nullable=True,
            comment="then its status is suspended, for good; null: it is open",
        ),
    )
    op.add_column(
        "wallets",
        sa.Column(
            "closed",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment=(
                "its account is closed: nothing is charged, and no entry made; it stands here"
                " because sends lock this row"
            ),
        ),
    )
