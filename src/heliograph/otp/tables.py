"""Defines the tables of one-time passwords, with one row for each that was sent, and of the ranges
of numbers that they went to; both keep their rows for a day. Another table keeps counts for nine
days.
"""

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS
from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.database.pruning import PruningRule
from heliograph.otp.states import KEPT_MS

# An OTP has the id of its send, so that its message, and the answer to it, follow from one number.
otps = sa.Table(
    "otps",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("phone", sa.BigInteger, nullable=False, comment="E.164 digits as a number"),
    sa.Column(
        "code_hmac",
        sa.LargeBinary(32),
        nullable=False,
        comment="of the code with this row's id, account, mode and phone; keyed",
    ),
    sa.Column(
        "failures",
        sa.SmallInteger,
        nullable=False,
        comment="wrong tries since the last success, counted across codes",
    ),
    sa.Column("locked_until_ms", sa.BigInteger, nullable=True),
    sa.Column("verified_at_ms", sa.BigInteger, nullable=True),
    sa.Column(
        "verified_by",
        RawId,
        nullable=True,
        comment="the verification: found again when the reply to its COMMIT was lost",
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint("failures BETWEEN 0 AND 5", name="otps_failures"),
    sa.CheckConstraint("(failures = 5) = (locked_until_ms IS NOT NULL)", name="otps_locked"),
    sa.CheckConstraint("(verified_at_ms IS NULL) = (verified_by IS NULL)", name="otps_verified"),
    sa.Index("otps_by_phone", "account_id", "sandbox", "phone", "id"),
)

# Live sends to a range of numbers since the last verification there; a verification takes the row
# away.
otp_ranges = sa.Table(
    "otp_ranges",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column("digits", sa.String(8), primary_key=True, comment="the first eight of its numbers"),
    sa.Column(
        "sent_at_ms",
        sa.Text,
        nullable=False,
        comment="times of the last hour's sends, oldest first, comma-separated; at most 50",
    ),
    sa.Column("blocked_at_ms", sa.BigInteger, nullable=True),
    sa.Column("changed_at_ms", sa.BigInteger, nullable=False),
    sa.Index("otp_ranges_by_age", "changed_at_ms"),  # for pruning
    sa.Index(
        "otp_ranges_blocked",
        "blocked_at_ms",
        **only_where("blocked_at_ms IS NOT NULL"),
    ),
)

# What was sent and verified in the last 24 hours, in one country and in all
# (otp/unverified_allowance.py); and how good the last week's hours were.
otp_tallies = sa.Table(
    "otp_tallies",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column(
        "country_code",
        sa.String(2),
        primary_key=True,
        comment="of its numbers; *: all of the account; ZZ: of no country",
    ),
    sa.Column(
        "hour",
        sa.BigInteger,
        nullable=False,
        comment="hours since 1970: the last one that is counted",
    ),
    sa.Column(
        "sent",
        sa.Text,
        nullable=False,
        comment="in each of 24 hours, the last one last, comma-separated",
    ),
    sa.Column("verified", sa.Text, nullable=False, comment="of those, the same way"),
    sa.Column(
        "best",
        sa.Text,
        nullable=False,
        comment="the most verified of one hour, of each of 8 days (UTC), today last",
    ),
    sa.Column(
        "capped_at_ms",
        sa.BigInteger,
        nullable=True,
        comment="when as many were unverified as may be, last",
    ),
    sa.Column("changed_at_ms", sa.BigInteger, nullable=False),
    sa.Index("otp_tallies_by_age", "changed_at_ms"),  # for pruning
    sa.Index(
        "otp_tallies_capped",
        "capped_at_ms",
        **only_where("capped_at_ms IS NOT NULL"),
    ),
)

ALL_COUNTRIES = "*"
TALLIES_KEPT_MS = 9 * DAY_MS  # a day longer than the best hour of a week counts
KEPT = (
    PruningRule(otps.name, "id", KEPT_MS),
    PruningRule(otp_ranges.name, "changed_at_ms", KEPT_MS),
    PruningRule(otp_tallies.name, "changed_at_ms", TALLIES_KEPT_MS, is_counts=True),
)
