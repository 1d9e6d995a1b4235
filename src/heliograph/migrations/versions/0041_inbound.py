"""Adds numbers, the texts that come in to them, and the parts of texts that are not whole yet.

The version before goes on working: it acknowledges texts, and stores none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    op.create_table(
        "numbers",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("carrier_id", sa.SmallInteger(), nullable=False),
        sa.Column("digits", sa.String(length=15), nullable=False),
        sa.Column(
            "account_id",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="null: several accounts share it",
        ),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.ForeignKeyConstraint(["carrier_id"], ["carriers.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("numbers_once", "numbers", ["carrier_id", "digits"], unique=True)
    op.create_index("numbers_by_account", "numbers", ["account_id", "sandbox", "id"])
    op.create_table(
        "inbound",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("carrier_id", sa.SmallInteger(), nullable=False),
        sa.Column(
            "account_id",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="null: nobody's, or of a number that is shared",
        ),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "sender",
            sa.String(length=64),
            nullable=True,
            comment="the handset: digits, or a name; null after retention",
        ),
        sa.Column("recipient", sa.String(length=64), nullable=False),
        sa.Column(
            "text", sa.Text(), nullable=True, comment="base64 if it is binary; null after retention"
        ),
        sa.Column("encoding", sa.String(length=8), nullable=False),
        sa.Column("parts", sa.SmallInteger(), nullable=False),
        sa.Column("parts_received", sa.SmallInteger(), nullable=False),
        sa.Column(
            "pdu",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="128 bits of a hash of what came, by which it is known again; null of several",
        ),
        sa.Column(
            "repeats", sa.Integer(), nullable=False, comment="how often the carrier sent it again"
        ),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False, comment="its first part"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("inbound_by_account", "inbound", ["account_id", "sandbox", "id"])
    op.create_index(
        "inbound_by_pdu",
        "inbound",
        ["carrier_id", "pdu", "id"],
        sqlite_where=sa.text("pdu IS NOT NULL"),
        postgresql_where=sa.text("pdu IS NOT NULL"),
    )
    op.create_index(
        "inbound_with_sender",
        "inbound",
        ["id"],
        sqlite_where=sa.text("sender IS NOT NULL"),
        postgresql_where=sa.text("sender IS NOT NULL"),
    )
    op.create_table(
        "inbound_parts",
        sa.Column(
            "group_id",
            sa.Uuid(as_uuid=False),
            nullable=False,
            comment="the same for all parts of a text",
        ),
        sa.Column("number", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("total", sa.SmallInteger(), nullable=False),
        sa.Column("carrier_id", sa.SmallInteger(), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("recipient", sa.String(length=64), nullable=False),
        sa.Column(
            "reference", sa.Integer(), nullable=False, comment="its kind, and the phone's number"
        ),
        sa.Column("alphabet", sa.String(length=8), nullable=False),
        sa.Column("octets", sa.LargeBinary(), nullable=False),
        sa.Column("pdu", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "inbound_id",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="the text, once it is stored",
        ),
        sa.PrimaryKeyConstraint("group_id", "number"),
    )
    op.create_index(
        "inbound_parts_by_text", "inbound_parts", ["carrier_id", "sender", "recipient", "reference"]
    )
    op.create_index("inbound_parts_by_age", "inbound_parts", ["received_at_ms"])
