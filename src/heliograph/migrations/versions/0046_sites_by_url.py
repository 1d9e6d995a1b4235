"""Adds an index of the addresses of sites, for the search for an account by one.

It is built beside what goes on. The version before does not need it.
"""

from alembic import op

revision = "0046"
down_revision = "0045"

transactional = False


def upgrade() -> None:
    op.create_index(
        "sites_by_url",
        "sites",
        ["site_url"],
        if_not_exists=True,
        postgresql_concurrently=True,
        postgresql_ops={"site_url": "text_pattern_ops"},
    )
