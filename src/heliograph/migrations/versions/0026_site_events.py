"""Adds an index of the events of sites, so that the page of one site reads no other account's.

It is built beside what goes on. The version before does not need it.
"""

from alembic import op

revision = "0026"
down_revision = "0025"

transactional = False


def upgrade() -> None:
    op.create_index(
        "site_events_by_site",
        "site_events",
        ["site_id", "id"],
        if_not_exists=True,
        postgresql_concurrently=True,
    )
