"""Adds the ledger's sums by hour, and proofs of the ledger that the console asks for.

The version before goes on working: it adds nothing up, and proves by the command alone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "ledger_hours",
        sa.Column("account_id", ID, nullable=False, comment="zeros: all accounts"),
        sa.Column(
            "at_ms",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="when the hour began",
        ),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("entries", sa.BigInteger(), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "at_ms", "type", "currency"),
    )
    op.create_index("ledger_hours_by_time", "ledger_hours", ["at_ms"])
    op.create_table(
        "ledger_proofs",
        sa.Column("id", ID, nullable=False),
        sa.Column(
            "slot",
            sa.SmallInteger(),
            nullable=True,
            comment="1 until it has ended, so that there is one at a time",
        ),
        sa.Column(
            "asked_by",
            sa.String(length=254),
            nullable=False,
            comment="the address of the operator",
        ),
        sa.Column("asked_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("begun_at_ms", sa.BigInteger(), nullable=True),
        sa.Column(
            "beat_at_ms", sa.BigInteger(), nullable=True, comment="when it last told its progress"
        ),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.SmallInteger(), nullable=False, comment="how many steps are done"),
        sa.Column("rows_read", sa.BigInteger(), nullable=False),
        sa.Column(
            "is_proven",
            sa.Boolean(),
            nullable=True,
            comment="null: it goes on, or was broken off",
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("slot", name="ledger_proofs_slot"),
        sa.CheckConstraint(
            "(slot IS NULL) = (ended_at_ms IS NOT NULL)", name="ledger_proofs_one_at_a_time"
        ),
    )
    op.create_table(
        "ledger_proof_findings",
        sa.Column("proof_id", ID, nullable=False),
        sa.Column("number", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("account_id", ID, nullable=False, comment="raw; may be of no account"),
        sa.Column("what", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["proof_id"], ["ledger_proofs.id"]),
        sa.PrimaryKeyConstraint("proof_id", "number"),
    )
