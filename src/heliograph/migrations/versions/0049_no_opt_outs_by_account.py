"""Removes the index whose place the one of 0048 has taken. The lock that this needs is held
for a moment.
"""

from alembic import op

revision = "0049"
down_revision = "0048"

contracts = "an index alone, which no version needs"
readable_by = "0010"


def upgrade() -> None:
    op.drop_index("suppressions_by_account", "suppressions")
