"""Stores of each part of a text whether its carrier wrote the sender without its country's code.

The version before goes on working: what it stores counts as written with the code.
"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    op.add_column(
        "inbound_parts",
        sa.Column(
            "is_national",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="the sender has no country code",
        ),
    )
