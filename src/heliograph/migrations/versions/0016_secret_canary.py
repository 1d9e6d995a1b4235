"""Stores which secret key the database's secrets are sealed with, and which keys each process
knows, so that the key can be replaced.

The version before goes on working: it reads neither, and its processes' `secret_keys` are null.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "secret_canary",
        sa.Column("id", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column(
            "sealed",
            sa.Text(),
            nullable=False,
            comment="with the secret key in use: who cannot read it has another one",
        ),
        sa.Column(
            "former",
            sa.Text(),
            nullable=True,
            comment="likewise with the key before, while anything may be sealed with it",
        ),
        sa.Column(
            "since_ms", sa.BigInteger(), nullable=False, comment="when the key came into use"
        ),
        sa.CheckConstraint("id = 1", name="secret_canary_id"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.add_column(
        "workers",
        sa.Column(
            "secret_keys",
            sa.Text(),
            nullable=True,
            comment="ids of the secret keys that it knows; null: of an earlier version",
        ),
    )
