"""Accounts: tenants. A Connect customer is an account with a parent."""

import sqlalchemy as sa

from heliograph.base.db import RawId, metadata

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("parent_id", RawId, sa.ForeignKey("accounts.id"), nullable=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("country_code", sa.String(2), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("max_tier", sa.String(32), nullable=False),
    sa.Column("countries", sa.Text, nullable=True, comment="ISO codes, comma-separated, it may send to; null: all with a route"),
    sa.Column("daily_credits", sa.BigInteger, nullable=True, comment="cap of credits a UTC day; null: none"),
    sa.Column("time_zone", sa.String(64), nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False, comment="a customer that was provisioned with a sandbox key"),
    sa.CheckConstraint("status IN ('active', 'suspended')", name="accounts_status"),
    sa.CheckConstraint("daily_credits >= 0", name="accounts_daily_credits"),
    sa.Index("accounts_by_parent", "parent_id"),
    sa.Index("accounts_by_name", "name"),
)

notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Index("notices_by_account", "account_id", "id"),
)
