"""Adds quotas of what an account may have stored in a day, and counts of one-time passwords
that nobody gives back.

The version before goes on working: it knows nothing of the new tables, and each new column may be
empty or has a default.
"""

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa
from alembic import op

from heliograph.text import parse_phone

revision = "0011"
down_revision = "0010"

ID = sa.Uuid(as_uuid=False)
HOURS, DAYS = 24, 8


def upgrade() -> None:
    op.add_column(
        "accounts",
        sa.Column(
            "otp_unverified",
            sa.BigInteger(),
            nullable=True,
            comment=(
                "one-time passwords that may stay unverified in any hour; null: as many as in the"
                " code"
            ),
        ),
    )
    for name in ("keys_day", "keys_octets", "sandbox_keys_octets"):
        comment = (
            "days since 1970 (UTC) that the next two count"
            if name == "keys_day"
            else "of Idempotency-Keys of sends and of one-time passwords"
        )
        kind = sa.Integer() if name == "keys_day" else sa.BigInteger()
        op.add_column(
            "wallets", sa.Column(name, kind, nullable=False, server_default="0", comment=comment)
        )
    op.create_table(
        "storage_quotas",
        sa.Column("account_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column(
            "octets", sa.BigInteger(), nullable=True, comment="a UTC day and mode; null: no bound"
        ),
        sa.CheckConstraint("octets >= 0", name="storage_quotas_octets"),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("account_id", "kind"),
    )
    op.create_table(
        "storage_used",
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column(
            "day_ms",
            sa.BigInteger(),
            nullable=False,
            comment="when the UTC day began that octets counts",
        ),
        sa.Column("octets", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("account_id", "sandbox", "kind"),
    )
    op.create_index("storage_used_by_age", "storage_used", ["day_ms"], unique=False)
    op.create_table(
        "otp_tallies",
        sa.Column("account_id", ID, nullable=False),
        sa.Column(
            "country_code",
            sa.String(length=2),
            nullable=False,
            comment="of its numbers; *: all of the account; ZZ: of no country",
        ),
        sa.Column(
            "hour",
            sa.BigInteger(),
            nullable=False,
            comment="hours since 1970: the last one that is counted",
        ),
        sa.Column(
            "sent",
            sa.Text(),
            nullable=False,
            comment="in each of 24 hours, the last one last, comma-separated",
        ),
        sa.Column("verified", sa.Text(), nullable=False, comment="of those, the same way"),
        sa.Column(
            "best",
            sa.Text(),
            nullable=False,
            comment="the most verified of one hour, of each of 8 days (UTC), today last",
        ),
        sa.Column(
            "capped_at_ms",
            sa.BigInteger(),
            nullable=True,
            comment="when as many were unverified as may be, last",
        ),
        sa.Column("changed_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "country_code"),
    )
    op.create_index("otp_tallies_by_age", "otp_tallies", ["changed_at_ms"], unique=False)
    op.create_index(
        "otp_tallies_capped",
        "otp_tallies",
        ["capped_at_ms"],
        unique=False,
        postgresql_where=sa.text("capped_at_ms IS NOT NULL"),
        sqlite_where=sa.text("capped_at_ms IS NOT NULL"),
    )
    _count_the_last_day()


def _count_the_last_day() -> None:
    """Begins each tally with what is known of the last 24 hours, so that an account that sends much
    today is not held for one without a past.
    """
    rows = (
        op.get_bind()
        .execute(
            sa.text("""
        SELECT CAST(account_id AS VARCHAR(36)), created_at_ms / 3600000, max(phone), count(*),
            count(verified_at_ms), max(created_at_ms)
        FROM otps WHERE NOT sandbox GROUP BY 1, 2, substr(CAST(phone AS VARCHAR(15)), 1, 7)""")
        )
        .all()
    )
    if not rows:
        return
    last = max(row[1] for row in rows)
    counts: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(
        lambda: defaultdict(lambda: [0, 0])
    )
    for account_id, hour, phone, sent, verified, _ in rows:
        parsed = parse_phone(str(phone))
        for country_code in ((parsed.country_code if parsed is not None else None) or "ZZ", "*"):
            counts[account_id, country_code][hour][0] += sent
            counts[account_id, country_code][hour][1] += verified
    tallies = sa.table(
        "otp_tallies",
        sa.column("account_id", ID),
        *map(sa.column, ("country_code", "hour", "sent", "verified", "best", "changed_at_ms")),
    )
    op.bulk_insert(
        tallies,
        [
            {
                "account_id": account_id.replace("-", ""),
                "country_code": country_code,
                "hour": last,
                "changed_at_ms": max(row[5] for row in rows),
                "sent": _written(
                    hours.get(last - ago, [0, 0])[0] for ago in reversed(range(HOURS))
                ),
                "verified": _written(
                    hours.get(last - ago, [0, 0])[1] for ago in reversed(range(HOURS))
                ),
                "best": _written(
                    max(
                        (
                            count[1]
                            for hour, count in hours.items()
                            if hour // HOURS == last // HOURS - ago
                        ),
                        default=0,
                    )
                    for ago in reversed(range(DAYS))
                ),
            }
            for (account_id, country_code), hours in counts.items()
        ],
    )


def _written(counts: Iterable[int]) -> str:
    return ",".join(map(str, counts))
