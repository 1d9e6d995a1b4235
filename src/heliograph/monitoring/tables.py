"""Defines the tables of samples and of carriers' figures over the last days.

A sample covers a step: ten seconds, a minute or ten minutes. The longer steps are made of the
shorter ones, which are kept for less long. So a plot of an hour, a day or a week reads at most some
thousand rows.
"""

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS, HOUR_MS, MINUTE_MS
from heliograph.database.database import metadata
from heliograph.database.pruning import PruningRule
from heliograph.messages.tables import DELIVERY_STEPS

EVERY_CARRIER = 0  # the id that samples of the whole service have; no carrier has it

TEN_SECONDS_MS = 10_000
TEN_MINUTES_MS = 600_000
# how long samples of each step are kept
STEPS_KEPT_MS = {TEN_SECONDS_MS: HOUR_MS, MINUTE_MS: DAY_MS, TEN_MINUTES_MS: 8 * DAY_MS}

# These are counted while a step lasts. A longer step has their sums.
COUNTS = (
    "accepted",
    "handed_over",
    "delivered",
    "refused",
    "throttled",
    "retried",
    "unanswered",
    "undelivered",
)
# These are what was found at the end of a step. A longer step has the highest.
LEVELS = (
    "waiting_ahead",
    "oldest_ahead_s",
    "waiting_bulk",
    "oldest_bulk_s",
    "in_doubt",
    "unmatched",
    "window_in_use",
    "webhooks_waiting",
)

service_samples = sa.Table(
    "service_samples",
    metadata,
    sa.Column("step_ms", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column(
        "carrier_id",
        sa.SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="0: the whole service",
    ),
    sa.Column(
        "at_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the step began",
    ),
    sa.Column(
        "covered_ms", sa.Integer, nullable=False, comment="of the step: what was counted in it"
    ),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in (*COUNTS, *LEVELS)),
    # for what is made of a step's samples, and for those that have served their time
    sa.Index("service_samples_by_time", "step_ms", "at_ms"),
)

# What became of the segments that a carrier took, by the quarter of an hour in which it took them.
# The rows of a quarter are a function of the carrier's ids (carrier_rollups.py).
SEGMENT_COUNTS = ("handed_over", "delivered", "undelivered")
carrier_rollups = sa.Table(
    "carrier_rollups",
    metadata,
    sa.Column("carrier_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "quarter_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the quarter of an hour began",
    ),
    sa.Column("country_code", sa.String(2), primary_key=True, comment="empty: not known"),
    *(sa.Column(name, sa.Integer, nullable=False) for name in (*SEGMENT_COUNTS, *DELIVERY_STEPS)),
    sa.Index("carrier_rollups_by_age", "quarter_ms"),
)

# What the segments that a carrier took were charged, and what they cost, by the quarter of an hour
# in which it took them and the currency of the cost. The rows of a quarter are a function of the
# carrier's ids and of the costs at the last count (carrier_money.py).
carrier_money = sa.Table(
    "carrier_money",
    metadata,
    sa.Column("carrier_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "quarter_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the quarter of an hour began",
    ),
    sa.Column("currency", sa.String(3), primary_key=True, comment="empty: no cost is known"),
    sa.Column("segments", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False),
    sa.Column(
        "cost_micro", sa.BigInteger, nullable=False, comment="millionths of the currency's unit"
    ),
    sa.Index("carrier_money_by_age", "quarter_ms"),
)

# When each quarter of an hour was counted last: whoever goes on begins where another one ended.
carrier_rollup_counts = sa.Table(
    "carrier_rollup_counts",
    metadata,
    sa.Column("quarter_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("counted_at_ms", sa.BigInteger, nullable=False),
)

# Answers to submit_sm other than "accepted", by their command_status and minute.
carrier_errors = sa.Table(
    "carrier_errors",
    metadata,
    sa.Column("carrier_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "at_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the minute began",
    ),
    sa.Column("command_status", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Index("carrier_errors_by_age", "at_ms"),
)

KEPT = (
    PruningRule(carrier_rollups.name, "quarter_ms", 35 * DAY_MS, is_counts=True),
    PruningRule(carrier_money.name, "quarter_ms", 35 * DAY_MS, is_counts=True),
    PruningRule(carrier_rollup_counts.name, "quarter_ms", 4 * DAY_MS, is_counts=True),
    PruningRule(carrier_errors.name, "at_ms", DAY_MS, is_counts=True),
)
