"""Adds webhooks: endpoints, events, what waits, what was delivered and what was tried. It adds
notices to an account's users, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column(
            "kinds", sa.String(length=255), nullable=False, comment="of events, comma-separated"
        ),
        sa.Column("include_customers", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False, comment="encrypted"),
        sa.Column(
            "former_secret",
            sa.Text(),
            nullable=True,
            comment="encrypted; while it is being rotated",
        ),
        sa.Column("former_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("disabled_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("disabled_reason", sa.String(length=16), nullable=True),
        sa.Column(
            "failing_since_ms",
            sa.BigInteger(),
            nullable=True,
            comment="of the first failure after the last success; null: the last one was a success",
        ),
        sa.Column(
            "listens_until_ms",
            sa.BigInteger(),
            nullable=True,
            comment="of `heliograph listen`, which delivers its own; null: an ordinary endpoint",
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "disabled_reason IN ('operator', 'gone', 'failing')",
            name="webhook_endpoints_disabled_reason",
        ),
        sa.CheckConstraint(
            "(disabled_at_ms IS NULL) = (disabled_reason IS NULL)",
            name="webhook_endpoints_disabled",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "webhook_endpoints_by_account", "webhook_endpoints", ["account_id"], unique=False
    )
    op.create_table(
        "webhook_events",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False, comment="whose change it tells of"),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("body", sa.Text(), nullable=False, comment="JSON, sent as it stands here"),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "webhook_queue",
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("tries", sa.SmallInteger(), nullable=False, comment="that have failed"),
        sa.PrimaryKeyConstraint("endpoint_id", "due_at_ms", "event_id"),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("outcome", sa.String(length=9), nullable=False),
        sa.Column(
            "tries", sa.SmallInteger(), nullable=False, comment="of all, also the successful one"
        ),
        sa.Column(
            "status", sa.SmallInteger(), nullable=True, comment="HTTP, of the successful try"
        ),
        sa.Column("took_ms", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True, comment="the first 1 KiB"),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('delivered', 'exhausted', 'missed')", name="webhook_deliveries_outcome"
        ),
        sa.PrimaryKeyConstraint("endpoint_id", "event_id"),
    )
    op.create_index("webhook_deliveries_by_age", "webhook_deliveries", ["at_ms"], unique=False)
    op.create_table(
        "webhook_attempts",
        sa.Column("id", ID, nullable=False),
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("try", sa.SmallInteger(), nullable=False),
        sa.Column(
            "status", sa.SmallInteger(), nullable=True, comment="HTTP; null: there was no answer"
        ),
        sa.Column(
            "reason", sa.String(length=32), nullable=False, comment="why it counts as a failure"
        ),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True, comment="the first 1 KiB"),
        sa.Column(
            "retry_after",
            sa.String(length=64),
            nullable=True,
            comment="as the receiver said it; recorded, not obeyed",
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "webhook_attempts_by_event", "webhook_attempts", ["endpoint_id", "event_id"], unique=False
    )
    op.create_table(
        "webhook_holders",
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column(
            "worker",
            sa.BigInteger(),
            nullable=False,
            comment="epoch of the process that delivers to it",
        ),
        sa.PrimaryKeyConstraint("endpoint_id"),
    )
    op.create_table(
        "notices",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("notices_by_account", "notices", ["account_id", "id"], unique=False)
