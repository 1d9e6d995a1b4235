"""Stores what carriers' segments were charged and cost, and the ledger's sums by hour with
both sides of transfers.

The version before goes on working. It counts no money of carriers: a quarter of an hour is counted
again while its ids are there. It adds up the giver's side alone, and says so by leaving out the new
column: such hours are added up again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column(
        "ledger_hours",
        sa.Column(
            "has_takers",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="false: by an older version, without what accounts were given by transfers",
        ),
    )
    op.create_table(
        "carrier_money",
        sa.Column("carrier_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "quarter_ms",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="when the quarter of an hour began",
        ),
        sa.Column(
            "currency", sa.String(length=3), nullable=False, comment="empty: no cost is known"
        ),
        sa.Column("segments", sa.BigInteger(), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.Column(
            "cost_micro",
            sa.BigInteger(),
            nullable=False,
            comment="millionths of the currency's unit",
        ),
        sa.PrimaryKeyConstraint("carrier_id", "quarter_ms", "currency"),
    )
    op.create_index("carrier_money_by_age", "carrier_money", ["quarter_ms"])
