"""Adds one-time passwords, and the ranges of numbers that they were sent to."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "otps",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("phone", sa.BigInteger(), nullable=False, comment="E.164 digits as a number"),
        sa.Column(
            "code_hmac",
            sa.LargeBinary(length=32),
            nullable=False,
            comment="of the code with this row's id, account, mode and phone; keyed",
        ),
        sa.Column(
            "failures",
            sa.SmallInteger(),
            nullable=False,
            comment="wrong tries since the last success, counted across codes",
        ),
        sa.Column("locked_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("verified_at_ms", sa.BigInteger(), nullable=True),
        sa.Column(
            "verified_by",
            ID,
            nullable=True,
            comment="the verification: found again when the reply to its COMMIT was lost",
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("failures BETWEEN 0 AND 5", name="otps_failures"),
        sa.CheckConstraint("(failures = 5) = (locked_until_ms IS NOT NULL)", name="otps_locked"),
        sa.CheckConstraint(
            "(verified_at_ms IS NULL) = (verified_by IS NULL)", name="otps_verified"
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("otps_by_phone", "otps", ["account_id", "sandbox", "phone", "id"], unique=False)
    op.create_table(
        "otp_ranges",
        sa.Column("account_id", ID, nullable=False),
        sa.Column(
            "digits", sa.String(length=8), nullable=False, comment="the first eight of its numbers"
        ),
        sa.Column(
            "sent_at_ms",
            sa.Text(),
            nullable=False,
            comment="times of the last hour's sends, oldest first, comma-separated; at most 50",
        ),
        sa.Column("blocked_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("changed_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "digits"),
    )
    op.create_index("otp_ranges_by_age", "otp_ranges", ["changed_at_ms"], unique=False)
    op.create_index(
        "otp_ranges_blocked",
        "otp_ranges",
        ["blocked_at_ms"],
        unique=False,
        postgresql_where=sa.text("blocked_at_ms IS NOT NULL"),
        sqlite_where=sa.text("blocked_at_ms IS NOT NULL"),
    )
