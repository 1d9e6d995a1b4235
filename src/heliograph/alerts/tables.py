"""Defines the tables of alerts: the rules that were changed, who is told, the wallets that are
watched, what was wrong and when, and what was told to whom.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS
from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.database.pruning import PruningRule

ADDRESS_MAX: Final = 2_048  # characters of a URL, which may be longer than an email address
SUBJECT_MAX: Final = 128  # characters of what an alert is about: an id, or a machine's name
TITLE_MAX: Final = 255
FAILURE_MAX: Final = 255  # characters of why somebody could not be told

# A rule that has no row here is as `rules.py` has it.
alert_rules = sa.Table(
    "alert_rules",
    metadata,
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("is_on", sa.Boolean, nullable=False),
    sa.Column("threshold", sa.Integer, nullable=True, comment="null: this kind has none"),
    sa.Column("hold_s", sa.Integer, nullable=False),
)

alert_recipients = sa.Table(
    "alert_recipients",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("address", sa.String(ADDRESS_MAX), nullable=False, comment="email address, or URL"),
    sa.Column("secret", sa.Text, nullable=True, comment="encrypted; null: it is told by mail"),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)

watched_wallets = sa.Table(
    "watched_wallets",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("credits_min", sa.BigInteger, nullable=False, comment="fewer are an alert"),
)

# A row is made when something is found wrong. It is an alert from `opened_at_ms` on, which is when
# it has lasted for as long as the rule holds it back.
alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("subject", sa.String(SUBJECT_MAX), nullable=False),
    sa.Column("title", sa.String(TITLE_MAX), nullable=False),
    sa.Column("found", sa.Text, nullable=False, comment="a sentence, of when it opened"),
    sa.Column("remedy", sa.Text, nullable=False, comment="what to do, in a sentence"),
    sa.Column("began_at_ms", sa.BigInteger, nullable=False),
    sa.Column("opened_at_ms", sa.BigInteger, nullable=True, comment="null: it is held back yet"),
    sa.Column(
        "fine_since_ms", sa.BigInteger, nullable=True, comment="null: it is wrong, at the last look"
    ),
    sa.Column("over_at_ms", sa.BigInteger, nullable=True),
    sa.CheckConstraint("over_at_ms IS NULL OR opened_at_ms IS NOT NULL", name="alerts_over"),
    # two processes that look at once open one alert
    sa.Index(
        "alerts_open",
        "kind",
        "subject",
        unique=True,
        **only_where("over_at_ms IS NULL"),
    ),
    sa.Index("alerts_by_age", "over_at_ms"),
)

# The address stands here too, so that who was told is known after a recipient was removed.
alert_tellings = sa.Table(
    "alert_tellings",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("alert_id", RawId, nullable=True, comment="null: it is a test"),
    sa.Column("recipient_id", RawId, nullable=False),
    sa.Column("address", sa.String(ADDRESS_MAX), nullable=False),
    sa.Column("event", sa.String(8), nullable=False),
    sa.Column("tries", sa.SmallInteger, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger, nullable=True, comment="null: no try is left to make"),
    sa.Column("told_at_ms", sa.BigInteger, nullable=True),
    sa.Column("failure", sa.String(FAILURE_MAX), nullable=True, comment="of the last try"),
    sa.CheckConstraint("event IN ('opened', 'over', 'test')", name="alert_tellings_event"),
    sa.Index("alert_tellings_due", "due_at_ms", **only_where("due_at_ms IS NOT NULL")),
    sa.Index("alert_tellings_by_alert", "alert_id", "recipient_id"),
    sa.Index("alert_tellings_by_recipient", "recipient_id", "id"),
)

KEPT_MS: Final = 90 * DAY_MS  # a quarter, to look back on
KEPT: Final = (
    PruningRule("alerts", "over_at_ms", KEPT_MS, is_counts=True),
    PruningRule("alert_tellings", "id", KEPT_MS, is_counts=True),
)
