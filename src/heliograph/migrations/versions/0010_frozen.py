"""Stores who was left out of a file's numbers when its audience was frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column(
        "campaign_recipients",
        sa.Column(
            "opted_out",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment=(
                "of a file's numbers: who was left out when the audience was frozen; contacts that"
                " are have no row"
            ),
        ),
    )
    # it is counted when they are launched
    op.execute("UPDATE campaigns SET opted_out = 0 WHERE status IN ('draft', 'scheduled')")
