"""Defines the tables of proofs of the ledger that operators have asked for in the console."""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata

ledger_proofs = sa.Table(
    "ledger_proofs",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column(
        "slot",
        sa.SmallInteger,
        nullable=True,
        comment="1 until it has ended, so that there is one at a time",
    ),
    sa.Column("asked_by", sa.String(254), nullable=False, comment="the address of the operator"),
    sa.Column("asked_at_ms", sa.BigInteger, nullable=False),
    sa.Column("begun_at_ms", sa.BigInteger, nullable=True),
    sa.Column("beat_at_ms", sa.BigInteger, nullable=True, comment="when it last told its progress"),
    sa.Column("ended_at_ms", sa.BigInteger, nullable=True),
    sa.Column("step", sa.SmallInteger, nullable=False, comment="how many steps are done"),
    sa.Column("rows_read", sa.BigInteger, nullable=False),
    sa.Column(
        "is_proven", sa.Boolean, nullable=True, comment="null: it goes on, or was broken off"
    ),
    sa.UniqueConstraint("slot", name="ledger_proofs_slot"),
    sa.CheckConstraint(
        "(slot IS NULL) = (ended_at_ms IS NOT NULL)", name="ledger_proofs_one_at_a_time"
    ),
)

ledger_proof_findings = sa.Table(
    "ledger_proof_findings",
    metadata,
    sa.Column("proof_id", RawId, sa.ForeignKey("ledger_proofs.id"), primary_key=True),
    sa.Column("number", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("account_id", RawId, nullable=False, comment="raw; may be of no account"),
    sa.Column("what", sa.Text, nullable=False),
)
