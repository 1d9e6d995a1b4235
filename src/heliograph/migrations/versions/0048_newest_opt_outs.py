"""Adds an index of an account's opt-outs by their age. No look for a phone can take it. It
takes the place of an index that could be taken so, and then read all opt-outs of the account.

It is built beside what goes on. The version before knows no opt-outs of this kind.
"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"

transactional = False


def upgrade() -> None:
    op.create_index(
        "suppressions_newest",
        "suppressions",
        ["account_id", "sandbox", "id"],
        unique=True,
        if_not_exists=True,
        postgresql_concurrently=True,
        sqlite_where=sa.text("source <> ''"),
        postgresql_where=sa.text("source <> ''"),
    )
