"""Stores which sender IDs look alike, their history, and reserved names."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.add_column("senders", sa.Column("skeleton", sa.String(length=15), nullable=True))
    known = sa.table(
        "senders",
        sa.column("id", ID),
        sa.column("sender", sa.String),
        sa.column("skeleton", sa.String),
    )
    for id_, sender in op.get_bind().execute(sa.select(known.c.id, known.c.sender)).all():
        op.execute(known.update().where(known.c.id == id_).values(skeleton=_skeleton(sender)))
    with op.batch_alter_table("senders") as senders:
        senders.alter_column(
            "skeleton",
            existing_type=sa.String(length=15),
            nullable=False,
            comment="the same of all that look alike",
        )
    op.create_index("senders_by_skeleton", "senders", ["skeleton"], unique=False)
    op.create_table(
        "sender_history",
        sa.Column("id", ID, nullable=False),
        sa.Column("sender_id", ID, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=255), nullable=True),
        sa.Column("by", sa.String(length=64), nullable=True, comment="null: the account"),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sender_id"],
            ["senders.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sender_history_by_sender", "sender_history", ["sender_id", "id"], unique=False)
    op.create_table(
        "reserved_senders",
        sa.Column("skeleton", sa.String(length=15), nullable=False),
        sa.Column("sender", sa.String(length=15), nullable=False),
        sa.Column("reason", sa.String(length=255), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("skeleton"),
    )


def _skeleton(sender: str) -> str:
    """Returns the skeleton as it was when this migration was written."""
    if sender.isdigit():
        return sender
    letters = re.sub(r"[ \-_&.]", "", sender.lower()).translate(
        str.maketrans("0123456789ij", "olzeasgtbgll")
    )
    return letters.replace("rn", "m").replace("vv", "w")
