"""Stores what carriers charge, and adds rate sheets that the operator uploads and plans.

The version before goes on working: it knows neither, and applies no sheet.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

RAW_ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "carrier_costs",
        sa.Column("carrier_id", sa.SmallInteger(), nullable=False),
        sa.Column(
            "prefix", sa.String(15), nullable=False, comment="digits; '' is all other numbers"
        ),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column(
            "amount_micro",
            sa.BigInteger(),
            nullable=False,
            comment="millionths of the currency's unit",
        ),
        sa.CheckConstraint("amount_micro >= 0", name="carrier_costs_amount"),
        sa.ForeignKeyConstraint(["carrier_id"], ["carriers.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("carrier_id", "prefix"),
    )
    op.create_table(
        "rate_sheets",
        sa.Column("id", RAW_ID, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("name", sa.String(128), nullable=False, comment="of the file"),
        sa.Column(
            "is_whole",
            sa.Boolean(),
            nullable=False,
            comment="rates that it does not have are removed",
        ),
        sa.Column(
            "lines",
            sa.Text(),
            nullable=False,
            comment="JSON: [account, destination, credits], …",
        ),
        sa.Column("user_id", RAW_ID, nullable=True, comment="null: a command"),
        sa.Column("email", sa.String(254), nullable=True),
        sa.Column("effective_at_ms", sa.BigInteger(), nullable=True, comment="null: not given yet"),
        sa.Column("allows_loss", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(255), nullable=True),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True, comment="applied or withdrawn"),
        sa.CheckConstraint(
            "status IN ('uploaded', 'planned', 'applied', 'withdrawn')", name="rate_sheets_status"
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("rate_sheets_by_time", "rate_sheets", ["status", "effective_at_ms"])
