"""Defines the tables of linked sites, and of what their plugins report."""

from typing import Final

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.pruning import PruningRule

sites = sa.Table(
    "sites",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column(
        "site_url", sa.String(255), nullable=False, comment="as url.py spells it: one site has one"
    ),
    sa.Column("site_name", sa.String(128), nullable=True),
    sa.Column("platform", sa.String(64), nullable=True),
    sa.Column("wp_version", sa.String(32), nullable=True),
    sa.Column("plugin_version", sa.String(32), nullable=True),
    sa.Column("php_version", sa.String(32), nullable=True),
    sa.Column("connected_at_ms", sa.BigInteger, nullable=False, comment="first"),
    sa.Column(
        "updated_at_ms", sa.BigInteger, nullable=False, comment="when its plugin last saved a key"
    ),
    sa.Index("sites_once", "account_id", "sandbox", "site_url", unique=True),
    # by their characters, whatever the language of the database
    sa.Index("sites_by_url", "site_url", info={"postgresql_ops": {"site_url": "text_pattern_ops"}}),
)

site_logs = sa.Table(
    "site_logs",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("site_id", RawId, sa.ForeignKey("sites.id"), nullable=False),
    sa.Column("event", sa.String(64), nullable=False),
    sa.Column("recipient", sa.String(32), nullable=True),
    sa.Column("message_type", sa.String(32), nullable=True),
    sa.Column("status", sa.String(32), nullable=True),
    sa.Column("source", sa.String(64), nullable=True),
    sa.Column("body", sa.Text, nullable=True, comment="never of a one-time password"),
    sa.Column("cost", sa.Float(53), nullable=True, comment="what the site takes it for"),
    sa.Column("external_ref", sa.String(128), nullable=True),
    sa.Column("message_id", sa.String(64), nullable=True),
    sa.Column(
        "meta", sa.Text, nullable=True, comment="a JSON object; never of a one-time password"
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Index("site_logs_once", "site_id", "external_ref", unique=True),
    sa.Index("site_logs_by_site", "site_id", "id"),
)

site_events = sa.Table(
    "site_events",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("site_id", RawId, sa.ForeignKey("sites.id"), nullable=False),
    sa.Column("event", sa.String(64), nullable=False),
    sa.Column("payload", sa.Text, nullable=False, comment="a JSON object"),
    sa.Column("meta", sa.Text, nullable=True, comment="a JSON object"),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Index("site_events_by_site", "site_id", "id"),
)

# a quarter: what an operator is asked about a shop is rarely older
KEPT_MS: Final = 90 * 86_400_000
KEPT: Final = (PruningRule("site_logs", "id", KEPT_MS), PruningRule("site_events", "id", KEPT_MS))
