"""Stores whether a note of an opt-out is about all texts of the account, or about those of a
sender.

The version before goes on working. It takes each note for one about all texts: what campaigns that
are sending at that moment have for the phone is withdrawn, also if only another sender is meant.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    op.add_column(
        "opt_outs",
        sa.Column(
            "whole",
            sa.Boolean(),
            nullable=False,
            server_default=sa.true(),
            comment="it is about all texts of the account; else about those of some sender",
        ),
    )
