"""Lets carriers be paused, and keeps their figures by country and hour for the operator's
console.

The version before goes on working: its processes hand texts over to a paused carrier, and count
nothing here.
"""

import sqlalchemy as sa
from alembic import op

# upper ends, in seconds, of the steps of the time from hand-over to delivery
STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400)
COUNTS = ("handed_over", "delivered", "undelivered", *(f"within_{s}_s" for s in STEPS_S), "later")

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.add_column(
        "carriers",
        sa.Column(
            "paused",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="nothing is handed over to it; its binds stay",
        ),
    )
    op.create_table(
        "carrier_rollups",
        sa.Column("carrier_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "quarter_ms",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="when the quarter of an hour began",
        ),
        sa.Column("country_code", sa.String(2), nullable=False, comment="empty: not known"),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in COUNTS),
        sa.PrimaryKeyConstraint("carrier_id", "quarter_ms", "country_code"),
    )
    op.create_index("carrier_rollups_by_age", "carrier_rollups", ["quarter_ms"])
    op.create_table(
        "carrier_rollup_counts",
        sa.Column("quarter_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("counted_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("quarter_ms"),
    )
    op.create_table(
        "carrier_errors",
        sa.Column("carrier_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "at_ms",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="when the minute began",
        ),
        sa.Column("command_status", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("carrier_id", "at_ms", "command_status"),
    )
    op.create_index("carrier_errors_by_age", "carrier_errors", ["at_ms"])
