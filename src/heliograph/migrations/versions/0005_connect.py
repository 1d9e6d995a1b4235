"""Adds Connect: customers, figures of their own for those of the sandbox, and the prices at
which the operator sells SMS credits.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.add_column(
        "accounts",
        sa.Column(
            "sandbox",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="a customer that was provisioned with a sandbox key",
        ),
    )
    op.add_column(
        "wallets",
        sa.Column(
            "sandbox_balance_minor",
            sa.BigInteger(),
            nullable=True,
            comment="of a sandbox customer only: figures to look at, not of the ledger",
        ),
    )
    # by hand: Alembic would copy the table on SQLite to add a CHECK, and lose those that it has
    op.execute(
        "ALTER TABLE wallets ADD COLUMN sandbox_credits BIGINT CONSTRAINT wallets_sandbox CHECK"
        " ((sandbox_balance_minor IS NULL) = (sandbox_credits IS NULL) AND sandbox_balance_minor >="
        " 0 AND sandbox_credits >= 0)"
    )
    op.create_table(
        "customers",
        sa.Column("account_id", ID, nullable=False),
        sa.Column("partner_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("external_ref", sa.String(length=128), nullable=True),
        sa.Column("label", sa.String(length=128), nullable=True),
        sa.Column("phone", sa.String(length=15), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.ForeignKeyConstraint(
            ["partner_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("account_id"),
    )
    op.create_index(
        "customers_by_partner", "customers", ["partner_id", "sandbox", "account_id"], unique=False
    )
    op.create_index(
        "customers_once", "customers", ["partner_id", "sandbox", "external_ref"], unique=True
    )
    op.create_table(
        "prices",
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount_minor > 0 AND credits > 0", name="prices_positive"),
        sa.PrimaryKeyConstraint("currency"),
    )
