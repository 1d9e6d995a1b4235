"""Adds alerts: the rules that operators changed, who is told, the wallets that are watched,
what was wrong and when, and what was told to whom.

The version before goes on working: its processes look for no alerts.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

ID = sa.Uuid(as_uuid=False)
OPEN = sa.text("over_at_ms IS NULL")
WAITS = sa.text("due_at_ms IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "alert_rules",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("threshold", sa.Integer(), nullable=True, comment="null: this kind has none"),
        sa.Column("hold_s", sa.Integer(), nullable=False),
    )
    op.create_table(
        "alert_recipients",
        sa.Column("id", ID, primary_key=True),
        sa.Column("address", sa.String(2048), nullable=False, comment="email address, or URL"),
        sa.Column(
            "secret", sa.Text(), nullable=True, comment="encrypted; null: it is told by mail"
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "watched_wallets",
        sa.Column("account_id", ID, sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("credits_min", sa.BigInteger(), nullable=False, comment="fewer are an alert"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", ID, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("subject", sa.String(128), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("found", sa.Text(), nullable=False, comment="a sentence, of when it opened"),
        sa.Column("remedy", sa.Text(), nullable=False, comment="what to do, in a sentence"),
        sa.Column("began_at_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "opened_at_ms", sa.BigInteger(), nullable=True, comment="null: it is held back yet"
        ),
        sa.Column(
            "fine_since_ms",
            sa.BigInteger(),
            nullable=True,
            comment="null: it is wrong, at the last look",
        ),
        sa.Column("over_at_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("over_at_ms IS NULL OR opened_at_ms IS NOT NULL", name="alerts_over"),
    )
    op.create_index(
        "alerts_open",
        "alerts",
        ["kind", "subject"],
        unique=True,
        postgresql_where=OPEN,
        sqlite_where=OPEN,
    )
    op.create_index("alerts_by_age", "alerts", ["over_at_ms"])
    op.create_table(
        "alert_tellings",
        sa.Column("id", ID, primary_key=True),
        sa.Column("alert_id", ID, nullable=True, comment="null: it is a test"),
        sa.Column("recipient_id", ID, nullable=False),
        sa.Column("address", sa.String(2048), nullable=False),
        sa.Column("event", sa.String(8), nullable=False),
        sa.Column("tries", sa.SmallInteger(), nullable=False),
        sa.Column(
            "due_at_ms", sa.BigInteger(), nullable=True, comment="null: no try is left to make"
        ),
        sa.Column("told_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("failure", sa.String(255), nullable=True, comment="of the last try"),
        sa.CheckConstraint("event IN ('opened', 'over', 'test')", name="alert_tellings_event"),
    )
    op.create_index(
        "alert_tellings_due",
        "alert_tellings",
        ["due_at_ms"],
        postgresql_where=WAITS,
        sqlite_where=WAITS,
    )
    op.create_index("alert_tellings_by_alert", "alert_tellings", ["alert_id", "recipient_id"])
    op.create_index("alert_tellings_by_recipient", "alert_tellings", ["recipient_id", "id"])
