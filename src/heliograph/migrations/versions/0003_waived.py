"""Lets processes waive their part of a carrier's rate."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column(
        "workers",
        sa.Column(
            "waived",
            sa.Text(),
            nullable=False,
            server_default="",
            comment="comma-separated ids of carriers that it leaves its part of the rate of",
        ),
    )
