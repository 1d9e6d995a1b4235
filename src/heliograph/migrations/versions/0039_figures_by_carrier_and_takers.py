"""The ledger's sums by hour with both sides of transfers.

The version before goes on working. It adds up the giver's side alone, and says so by leaving out
the new column: such hours are added up again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0037"


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
