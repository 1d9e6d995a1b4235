"""Adds weights of the carriers of a route.

The version before goes on working: it sends what such a route gets to the first carrier that is up.
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.add_column(
        "routes",
        sa.Column(
            "weights",
            sa.String(length=255),
            nullable=True,
            comment="comma-separated, of the first carriers, which share; null: none has one",
        ),
    )
