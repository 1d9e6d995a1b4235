"""Adds an index of contacts by their tags on PostgreSQL, for campaigns to those who have one.

It is built beside what goes on. The version before does not read it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"

transactional = False


def upgrade() -> None:
    # Without a list of what is pending, which each look-up would go through, shelf by shelf.
    if op.get_bind().dialect.name == "postgresql":
        op.create_index(
            "contacts_tags",
            "contacts",
            [sa.text("contact_tags(shelf, tags)")],
            if_not_exists=True,
            postgresql_concurrently=True,
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
            postgresql_where=sa.text("tags <> '[]'"),
        )
