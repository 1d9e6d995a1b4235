"""Defines the tables of API keys and rate tiers. A key itself is never stored: only its SHA-256 and
its first 12 characters are.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("prefix", sa.String(12), nullable=False),
    sa.Column("sha256", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("permissions", sa.Text, nullable=False, comment="comma-separated"),
    sa.Column("tier", sa.String(32), sa.ForeignKey("tiers.name"), nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=True),
    sa.Column("revoked_at_ms", sa.BigInteger, nullable=True),
    sa.Column("last_used_at_ms", sa.BigInteger, nullable=True),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Index("api_keys_by_account", "account_id"),
)

tiers = sa.Table(
    "tiers",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("per_minute", sa.BigInteger, nullable=False),
    sa.CheckConstraint("per_minute > 0", name="tiers_per_minute"),
)
