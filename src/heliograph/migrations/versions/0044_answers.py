"""Stores what answers what: a handset's text answers a message of ours, and a send of ours
answers a handset's text. It also stores whose the other texts to a shared number are.

The version before goes on working: it stores texts without saying what they answer, and those to
shared numbers as nobody's.
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.add_column(
        "inbound",
        sa.Column(
            "in_reply_to",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="the message of ours that it answers",
        ),
    )
    op.add_column(
        "numbers",
        sa.Column(
            "catch_all_id",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="of a shared one: the account that gets what is no other's",
        ),
    )
    op.create_table(
        "message_replies",
        sa.Column("message_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("inbound_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.PrimaryKeyConstraint("message_id", "inbound_id"),
    )
    op.create_table(
        "answering_sends",
        sa.Column("send_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column(
            "inbound_id", sa.Uuid(as_uuid=False), nullable=False, comment="the text that it answers"
        ),
        sa.PrimaryKeyConstraint("send_id"),
    )
