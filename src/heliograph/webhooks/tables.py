"""Defines the tables of webhooks: who wants to know (endpoints), what happened (events), and what
has been told to whom.

An event that is to be delivered waits in `webhook_queue`, one row an endpoint; its outcome moves it
to `webhook_deliveries`. So the queue holds only what is still to be done, and a dead endpoint's
backlog lies in a range of its own.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS
from heliograph.base.ids import LATER_MS
from heliograph.database.database import RawId, metadata
from heliograph.database.pruning import PruningRule
from heliograph.database.transitions import is_one_of
from heliograph.webhooks.states import DELIVERED, EXHAUSTED, MISSED, REASONS

MESSAGE_SENT, MESSAGE_DELIVERED, MESSAGE_FAILED = (
    "message.sent",
    "message.delivered",
    "message.failed",
)
MESSAGE_RECEIVED = "message.received"
CONTACT_OPTED_OUT, CONTACT_OPTED_IN = "contact.opted_out", "contact.opted_in"
LOW_BALANCE, CAMPAIGN_COMPLETED = "wallet.low_balance", "campaign.completed"
# docs/webhooks.md, "The events"
KINDS: Final = (
    MESSAGE_SENT,
    MESSAGE_DELIVERED,
    MESSAGE_FAILED,
    MESSAGE_RECEIVED,
    CONTACT_OPTED_OUT,
    CONTACT_OPTED_IN,
    CAMPAIGN_COMPLETED,
    LOW_BALANCE,
)

webhook_endpoints = sa.Table(
    "webhook_endpoints",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("kinds", sa.String(255), nullable=False, comment="of events, comma-separated"),
    sa.Column("include_customers", sa.Boolean, nullable=False),
    sa.Column("secret", sa.Text, nullable=False, comment="encrypted"),
    sa.Column(
        "former_secret", sa.Text, nullable=True, comment="encrypted; while it is being rotated"
    ),
    sa.Column("former_until_ms", sa.BigInteger, nullable=True),
    sa.Column("disabled_at_ms", sa.BigInteger, nullable=True),
    sa.Column("disabled_reason", sa.String(16), nullable=True),
    sa.Column(
        "failing_since_ms",
        sa.BigInteger,
        nullable=True,
        comment="of the first failure after the last success; null: the last one was a success",
    ),
    # also of a removed endpoint: when its rows go
    sa.Column(
        "listens_until_ms",
        sa.BigInteger,
        nullable=True,
        comment="of `heliograph listen`, which delivers its own; null: an ordinary endpoint",
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(
        is_one_of("disabled_reason", REASONS),
        name="webhook_endpoints_disabled_reason",
    ),
    sa.CheckConstraint(
        "(disabled_at_ms IS NULL) = (disabled_reason IS NULL)", name="webhook_endpoints_disabled"
    ),
    sa.Index("webhook_endpoints_by_account", "account_id"),
)

webhook_events = sa.Table(
    "webhook_events",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False, comment="whose change it tells of"),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("body", sa.Text, nullable=False, comment="JSON, sent as it stands here"),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)

webhook_queue = sa.Table(
    "webhook_queue",
    metadata,
    sa.Column("endpoint_id", RawId, primary_key=True),
    sa.Column("due_at_ms", sa.BigInteger, primary_key=True),
    sa.Column("event_id", RawId, primary_key=True),
    sa.Column("tries", sa.SmallInteger, nullable=False, comment="that have failed"),
)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("endpoint_id", RawId, primary_key=True),
    sa.Column("event_id", RawId, primary_key=True),
    sa.Column("outcome", sa.String(9), nullable=False),
    sa.Column("tries", sa.SmallInteger, nullable=False, comment="of all, also the successful one"),
    sa.Column("status", sa.SmallInteger, nullable=True, comment="HTTP, of the successful try"),
    sa.Column("took_ms", sa.Integer, nullable=True),
    sa.Column("answer", sa.Text, nullable=True, comment="the first 1 KiB"),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(
        f"outcome IN ('{DELIVERED}', '{EXHAUSTED}', '{MISSED}')", name="webhook_deliveries_outcome"
    ),
    sa.Index("webhook_deliveries_by_age", "at_ms"),
)

webhook_attempts = sa.Table(
    "webhook_attempts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("endpoint_id", RawId, nullable=False),
    sa.Column("event_id", RawId, nullable=False),
    sa.Column("try", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=True, comment="HTTP; null: there was no answer"),
    sa.Column("reason", sa.String(32), nullable=False, comment="why it counts as a failure"),
    sa.Column("took_ms", sa.Integer, nullable=False),
    sa.Column("answer", sa.Text, nullable=True, comment="the first 1 KiB"),
    sa.Column(
        "retry_after",
        sa.String(64),
        nullable=True,
        comment="as the receiver said it; recorded, not obeyed",
    ),
    sa.Index("webhook_attempts_by_event", "endpoint_id", "event_id"),
)

webhook_holders = sa.Table(
    "webhook_holders",
    metadata,
    sa.Column("endpoint_id", RawId, primary_key=True),
    sa.Column(
        "worker", sa.BigInteger, nullable=False, comment="epoch of the process that delivers to it"
    ),
)

KEPT_MS: Final = 30 * DAY_MS  # replayable for so long (docs/webhooks.md, "What became of an event")
# an event's id has the time of what it tells of, which may be so much older
EVENTS_KEPT_MS: Final = KEPT_MS + LATER_MS
KEPT: Final = (
    PruningRule("webhook_deliveries", "at_ms", KEPT_MS),
    PruningRule("webhook_attempts", "id", KEPT_MS),
    PruningRule("webhook_events", "id", EVENTS_KEPT_MS),
)
