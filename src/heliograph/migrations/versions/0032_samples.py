"""Adds samples of the service's figures, for the plots of the operator's console. It also
stores what each process tells of itself with its beat.

The version before goes on working: its processes tell nothing, and write no samples.
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

FIGURES = (
    "accepted",
    "handed_over",
    "delivered",
    "refused",
    "throttled",
    "retried",
    "unanswered",
    "undelivered",
    "waiting_ahead",
    "oldest_ahead_s",
    "waiting_bulk",
    "oldest_bulk_s",
    "in_doubt",
    "unmatched",
    "window_in_use",
    "webhooks_waiting",
)


def upgrade() -> None:
    op.create_table(
        "service_samples",
        sa.Column("step_ms", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "carrier_id",
            sa.SmallInteger(),
            autoincrement=False,
            nullable=False,
            comment="0: the whole service",
        ),
        sa.Column(
            "at_ms",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="when the step began",
        ),
        sa.Column(
            "covered_ms",
            sa.Integer(),
            nullable=False,
            comment="of the step: what was counted in it",
        ),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in FIGURES),
        sa.PrimaryKeyConstraint("step_ms", "carrier_id", "at_ms"),
    )
    op.create_index("service_samples_by_time", "service_samples", ["step_ms", "at_ms"])
    op.add_column(
        "workers",
        sa.Column(
            "figures",
            sa.Text(),
            nullable=True,
            comment="JSON: what it told of itself with its last beat"
            " (monitoring/process_figures.py)",
        ),
    )
