"""What answers what: a handset's text a message of ours, and a send of ours a handset's text.

The version before goes on working: it stores texts without saying what they answer.
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0041"


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
