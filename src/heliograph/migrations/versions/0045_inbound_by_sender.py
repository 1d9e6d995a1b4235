"""Adds an index of the texts from handsets by the phone that wrote them, so that a
conversation is read without the account's other texts.

It is built beside what goes on. The version before does not need it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"

transactional = False


def upgrade() -> None:
    op.create_index(
        "inbound_by_sender",
        "inbound",
        ["account_id", "sandbox", "sender", "id"],
        if_not_exists=True,
        postgresql_concurrently=True,
        sqlite_where=sa.text("account_id IS NOT NULL AND sender IS NOT NULL"),
        postgresql_where=sa.text("account_id IS NOT NULL AND sender IS NOT NULL"),
    )
