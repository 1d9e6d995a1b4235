"""Defines the table of sender IDs, the names that texts may come from."""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.senders.states import SENDER

DOCUMENT_NAME_MAX = 100  # characters, which fit into a line

senders = sa.Table(
    "senders",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("sender", sa.String(15), nullable=False, comment="as approved, and as sent"),
    sa.Column(
        "folded",
        sa.String(15),
        nullable=False,
        comment="lower case: senders are compared without case",
    ),
    sa.Column("skeleton", sa.String(15), nullable=False, comment="the same of all that look alike"),
    sa.Column("country_code", sa.String(2), nullable=True),
    sa.Column("purpose", sa.String(255), nullable=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("rejection_reason", sa.String(255), nullable=True),
    sa.Column("is_default", sa.Boolean, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("decided_at_ms", sa.BigInteger, nullable=True),
    sa.CheckConstraint(SENDER.is_in(*SENDER.states), name="senders_status"),
    sa.Index("senders_once", "account_id", "sandbox", "folded", unique=True),
    sa.Index("senders_by_skeleton", "skeleton"),
)

sender_history = sa.Table(
    "sender_history",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("sender_id", RawId, sa.ForeignKey("senders.id"), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(255), nullable=True),
    sa.Column("by", sa.String(64), nullable=True, comment="null: the account"),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Index("sender_history_by_sender", "sender_id", "id"),
)

reserved_senders = sa.Table(
    "reserved_senders",
    metadata,
    sa.Column("skeleton", sa.String(15), primary_key=True),
    sa.Column("sender", sa.String(15), nullable=False),
    sa.Column("reason", sa.String(255), nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)

# letters and papers for whoever decides on a sender ID (documents.py)
sender_documents = sa.Table(
    "sender_documents",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("sender_id", RawId, sa.ForeignKey("senders.id"), nullable=False),
    sa.Column("account_id", RawId, nullable=False, comment="whose sender ID it is"),
    sa.Column("name", sa.String(DOCUMENT_NAME_MAX), nullable=False),
    sa.Column("media_type", sa.String(32), nullable=False, comment="by the content"),
    sa.Column("octets", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index("sender_documents_by_sender", "sender_id", "id"),
    sa.Index("sender_documents_by_account", "account_id"),
)
