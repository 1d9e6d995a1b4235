"""Stores what plugins tell beside a log entry or an event.

The version before goes on working: it leaves the new columns null.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column(
        "site_logs",
        sa.Column(
            "meta", sa.Text(), nullable=True, comment="a JSON object; never of a one-time password"
        ),
    )
    op.add_column(
        "site_events", sa.Column("meta", sa.Text(), nullable=True, comment="a JSON object")
    )
