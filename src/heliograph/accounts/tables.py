"""Defines the tables of accounts, which are tenants. A Connect customer is an account with a
parent.
"""

import sqlalchemy as sa

from heliograph.base.short_texts import EMAIL_MAX
from heliograph.database.database import RawId, metadata

EXTERNAL_REF_MAX = 128
LABEL_MAX = 128
AUTHOR_NAME_MAX = 254  # an address of a user is the longest
DETAIL_MAX = 255

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("parent_id", RawId, sa.ForeignKey("accounts.id"), nullable=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("country_code", sa.String(2), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("max_tier", sa.String(32), nullable=False),
    sa.Column(
        "countries",
        sa.Text,
        nullable=True,
        comment="ISO codes, comma-separated, it may send to; null: all with a route",
    ),
    sa.Column(
        "daily_credits",
        sa.BigInteger,
        nullable=True,
        comment="cap of credits a UTC day; null: none",
    ),
    sa.Column("time_zone", sa.String(64), nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "sandbox",
        sa.Boolean,
        nullable=False,
        comment="a customer that was provisioned with a sandbox key",
    ),
    sa.Column(
        "otp_unverified",
        sa.BigInteger,
        nullable=True,
        comment=(
            "one-time passwords that may stay unverified in any hour; null: as many as in the code"
        ),
    ),
    sa.Column(
        "closed_at_ms",
        sa.BigInteger,
        nullable=True,
        comment="then its status is suspended, for good; null: it is open",
    ),
    sa.Column(
        "transactional",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="it may send texts that reach who has opted out",
    ),
    sa.CheckConstraint("status IN ('active', 'suspended')", name="accounts_status"),
    sa.CheckConstraint("daily_credits >= 0", name="accounts_daily_credits"),
    sa.Index("accounts_by_parent", "parent_id"),
    sa.Index("accounts_by_name", "name"),
)

# What is kept of a Connect customer beside its account and its wallet. It stands here, below keys,
# because a key may name one.
customers = sa.Table(
    "customers",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("partner_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("external_ref", sa.String(EXTERNAL_REF_MAX), nullable=True),
    sa.Column("label", sa.String(LABEL_MAX), nullable=True),
    sa.Column("phone", sa.String(15), nullable=False),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=True),
    sa.Index("customers_by_partner", "partner_id", "sandbox", "account_id"),
    # any number without one: NULLs differ
    sa.Index("customers_once", "partner_id", "sandbox", "external_ref", unique=True),
)

account_history = sa.Table(
    "account_history",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(255), nullable=True),
    sa.Column("by", sa.String(64), nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Index("account_history_by_account", "account_id", "id"),
)

# What the operator lets an account have stored in a UTC day, of a kind and in each mode, where it
# is not what every account may (quotas.py).
storage_quotas = sa.Table(
    "storage_quotas",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("kind", sa.String(10), primary_key=True),
    sa.Column("octets", sa.BigInteger, nullable=True, comment="a UTC day and mode; null: no bound"),
    sa.CheckConstraint("octets >= 0", name="storage_quotas_octets"),
)

# What was stored of a kind on the last day on which anything was: counted in the transaction that
# stores it.
storage_used = sa.Table(
    "storage_used",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("sandbox", sa.Boolean, primary_key=True),
    sa.Column("kind", sa.String(10), primary_key=True),
    sa.Column(
        "day_ms", sa.BigInteger, nullable=False, comment="when the UTC day began that octets counts"
    ),
    sa.Column("octets", sa.BigInteger, nullable=False),
    sa.Index("storage_used_by_age", "day_ms"),  # for pruning
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

# What people and programs changed (audit_log.py). No foreign key: it would lock the account, after
# what was changed.
audit_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("author_kind", sa.String(8), nullable=False),
    sa.Column(
        "author_id", RawId, nullable=False, comment="of a user, such as an operator, or a key"
    ),
    sa.Column("author_name", sa.String(AUTHOR_NAME_MAX), nullable=False),
    sa.Column("action", sa.String(32), nullable=False),
    sa.Column("record", sa.String(64), nullable=True, comment="text id of what was changed"),
    sa.Column("detail", sa.String(DETAIL_MAX), nullable=True),
    sa.CheckConstraint("author_kind IN ('user', 'key', 'operator')", name="audit_log_author_kind"),
    sa.Index("audit_log_by_account", "account_id", "id"),
    sa.Index("audit_log_by_kind", "account_id", "author_kind", "id"),
)
