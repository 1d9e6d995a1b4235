"""Stores what the database knows of itself: which versions can work with its schema, and which
installation it belongs to.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.SmallInteger(), nullable=False),
        sa.Column(
            "readable_by",
            sa.String(length=8),
            nullable=False,
            comment="the oldest schema whose version can work with the present one",
        ),
        sa.Column(
            "home",
            sa.String(length=64),
            nullable=True,
            comment="where it was when it was last served; null: it has never been",
        ),
        sa.CheckConstraint("id = 1", name="installation_id"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute("INSERT INTO installation (id, readable_by) VALUES (1, '0010')")
