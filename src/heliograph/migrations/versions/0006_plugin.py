"""Adds the site plugin: linked sites, and what they report."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "sites",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "site_url",
            sa.String(length=255),
            nullable=False,
            comment="as url.py spells it: one site has one",
        ),
        sa.Column("site_name", sa.String(length=128), nullable=True),
        sa.Column("platform", sa.String(length=64), nullable=True),
        sa.Column("wp_version", sa.String(length=32), nullable=True),
        sa.Column("plugin_version", sa.String(length=32), nullable=True),
        sa.Column("php_version", sa.String(length=32), nullable=True),
        sa.Column("connected_at_ms", sa.BigInteger(), nullable=False, comment="first"),
        sa.Column(
            "updated_at_ms",
            sa.BigInteger(),
            nullable=False,
            comment="when its plugin last saved a key",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sites_once", "sites", ["account_id", "sandbox", "site_url"], unique=True)
    op.create_table(
        "site_logs",
        sa.Column("id", ID, nullable=False),
        sa.Column("site_id", ID, nullable=False),
        sa.Column("event", sa.String(length=64), nullable=False),
        sa.Column("recipient", sa.String(length=32), nullable=True),
        sa.Column("message_type", sa.String(length=32), nullable=True),
        sa.Column("status", sa.String(length=32), nullable=True),
        sa.Column("source", sa.String(length=64), nullable=True),
        sa.Column("body", sa.Text(), nullable=True, comment="never of a one-time password"),
        sa.Column(
            "cost", sa.Float(precision=53), nullable=True, comment="what the site takes it for"
        ),
        sa.Column("external_ref", sa.String(length=128), nullable=True),
        sa.Column("message_id", sa.String(length=64), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["site_id"],
            ["sites.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("site_logs_once", "site_logs", ["site_id", "external_ref"], unique=True)
    op.create_index("site_logs_by_site", "site_logs", ["site_id", "id"], unique=False)
    op.create_table(
        "site_events",
        sa.Column("id", ID, nullable=False),
        sa.Column("site_id", ID, nullable=False),
        sa.Column("event", sa.String(length=64), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False, comment="a JSON object"),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["site_id"],
            ["sites.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
