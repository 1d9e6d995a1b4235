"""Defines the tables of wallets, of the ledger and of prices. A wallet's figures are the sum of its
ledger entries; `heliograph ledger verify` proves it.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.database.transitions import is_one_of

ENTRY_TYPES = (
    "topup",
    "credit_purchase",
    "credit_grant",
    "sms_charge",
    "sms_refund",
    "transfer_in",
    "transfer_out",
    "adjustment",
)

wallets = sa.Table(
    "wallets",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("balance_minor", sa.BigInteger, nullable=False),
    sa.Column("sms_credits", sa.BigInteger, nullable=False),
    sa.Column("low_balance_credits", sa.BigInteger, nullable=True),
    sa.Column("low_balance_amount_minor", sa.BigInteger, nullable=True),
    sa.Column("credits_alarm_armed", sa.Boolean, nullable=False),
    sa.Column("balance_alarm_armed", sa.Boolean, nullable=False),
    sa.Column(
        "spent_day",
        sa.Integer,
        nullable=False,
        comment="days since 1970 (UTC) that spent_credits counts",
    ),
    sa.Column("spent_credits", sa.BigInteger, nullable=False),
    sa.Column(
        "sandbox_balance_minor",
        sa.BigInteger,
        nullable=True,
        comment="of a sandbox customer only: figures to look at, not of the ledger",
    ),
    sa.Column("sandbox_credits", sa.BigInteger, nullable=True),
    sa.Column(
        "keys_day",
        sa.Integer,
        nullable=False,
        server_default="0",
        comment="days since 1970 (UTC) that the next two count",
    ),
    sa.Column(
        "keys_octets",
        sa.BigInteger,
        nullable=False,
        server_default="0",
        comment="of Idempotency-Keys of sends and of one-time passwords",
    ),
    sa.Column(
        "sandbox_keys_octets",
        sa.BigInteger,
        nullable=False,
        server_default="0",
        comment="of Idempotency-Keys of sends and of one-time passwords",
    ),
    sa.Column(
        "moved_day",
        sa.Integer,
        nullable=False,
        server_default="0",
        comment="days since 1970 (UTC) that moved_credits counts",
    ),
    sa.Column(
        "moved_credits",
        sa.BigInteger,
        nullable=False,
        server_default="0",
        comment="that the partner moved to this customer on that day, less what it took back",
    ),
    sa.Column(
        "closed",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment=(
            "its account is closed: nothing is charged, and no entry made; it stands here because"
            " sends lock this row"
        ),
    ),
    sa.CheckConstraint("balance_minor >= 0", name="wallets_balance"),
    sa.CheckConstraint("sms_credits >= 0", name="wallets_credits"),
    sa.CheckConstraint(
        "(sandbox_balance_minor IS NULL) = (sandbox_credits IS NULL) AND sandbox_balance_minor >= 0"
        " AND sandbox_credits >= 0",
        name="wallets_sandbox",
    ),
    info={"postgresql_with": {"fillfactor": 50}},  # every debit updates its row in place
)

# One row is one transfer between an account and its counterpart (another account, or one of the
# service's own, ledger.SERVICE…): what the one gains the other loses, so every row sums to zero in
# each unit. Signs are the account's. A transfer between two customers is seen by both; the
# counterpart's figures after it stand beside. Rows are only ever added.
ledger_entries = sa.Table(
    "ledger_entries",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("counterpart_id", RawId, nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("amount_minor", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False),
    sa.Column("balance_after_minor", sa.BigInteger, nullable=False),
    sa.Column("credits_after", sa.BigInteger, nullable=False),
    sa.Column("counterpart_balance_after_minor", sa.BigInteger, nullable=True),
    sa.Column("counterpart_credits_after", sa.BigInteger, nullable=True),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("reference", sa.String(128), nullable=True),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(is_one_of("type", ENTRY_TYPES), name="ledger_entries_type"),
    sa.CheckConstraint("account_id <> counterpart_id", name="ledger_entries_two_sides"),
    sa.CheckConstraint(
        "balance_after_minor >= 0 AND credits_after >= 0", name="ledger_entries_never_negative"
    ),
    sa.Index("ledger_entries_by_account", "account_id", "id"),
    sa.Index(
        "ledger_entries_by_counterpart",
        "counterpart_id",
        "id",
        **only_where("counterpart_credits_after IS NOT NULL"),
    ),
    # the same reference is applied once (docs/operations.md, "Everyday commands")
    sa.Index(
        "ledger_entries_once",
        "account_id",
        "type",
        "reference",
        unique=True,
        **only_where(
            "reference IS NOT NULL AND type IN ('topup', 'credit_grant', 'adjustment',"
            " 'credit_purchase')"
        ),
    ),
)

# What the entries of an hour add up to, by account, type and currency: for the figures by day that
# the console shows. Entries are only ever added, so an hour that is over is added up once.
EVERY_ACCOUNT = f"{0:032x}"  # the id that the sums of all accounts have; no account has it

ledger_hours = sa.Table(
    "ledger_hours",
    metadata,
    sa.Column("account_id", RawId, primary_key=True, comment="zeros: all accounts"),
    sa.Column(
        "at_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the hour began",
    ),
    sa.Column("type", sa.String(16), primary_key=True),
    sa.Column("currency", sa.String(3), primary_key=True),
    sa.Column("entries", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False),
    sa.Column("amount_minor", sa.BigInteger, nullable=False),
    sa.Column(
        "has_takers",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="false: by an older version, without what accounts were given by transfers",
    ),
    # for those that have served their time
    sa.Index("ledger_hours_by_time", "at_ms"),
)

# What the operator sells SMS credits for: so many of them for this much money of a currency.
prices = sa.Table(
    "prices",
    metadata,
    sa.Column("currency", sa.String(3), primary_key=True),
    sa.Column("amount_minor", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False),
    sa.CheckConstraint("amount_minor > 0 AND credits > 0", name="prices_positive"),
)
