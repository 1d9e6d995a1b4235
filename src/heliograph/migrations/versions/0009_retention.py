"""Stores how far retention has come."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "kept_from",
        sa.Column("what", sa.String(length=8), nullable=False),
        sa.Column(
            "from_id",
            ID,
            nullable=False,
            comment="all of it is there from this id on; what is below may be gone",
        ),
        sa.CheckConstraint("what IN ('texts', 'messages', 'events')", name="kept_from_what"),
        sa.PrimaryKeyConstraint("what"),
    )
