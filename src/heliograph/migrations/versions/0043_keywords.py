"""Adds keywords: words that a handset sends, and that do something.

The version before goes on working: it heeds none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.add_column(
        "numbers",
        sa.Column(
            "first_word",
            sa.Boolean(),
            server_default=sa.false(),
            nullable=False,
            comment="a keyword may stand before other words",
        ),
    )
    op.add_column(
        "numbers",
        sa.Column(
            "opt_out_scope",
            sa.String(length=8),
            server_default="account",
            nullable=False,
            comment=(
                "of whose texts one opts out on it: account, or sender, which is the number alone"
            ),
        ),
    )
    op.add_column(
        "inbound",
        sa.Column("keyword", sa.String(length=32), nullable=True, comment="folded"),
    )
    op.add_column(
        "inbound",
        sa.Column("opt_out_suspected", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_table(
        "keywords",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("account_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "number_id",
            sa.Uuid(as_uuid=False),
            nullable=True,
            comment="null: all numbers of the account",
        ),
        sa.Column("keyword", sa.String(length=32), nullable=False, comment="as it was written"),
        sa.Column("folded", sa.String(length=32), nullable=False, comment="as it is compared"),
        sa.Column("action", sa.String(length=8), nullable=False),
        sa.Column(
            "reply", sa.Text(), nullable=True, comment="null: the built-in one of its action"
        ),
        sa.Column(
            "language",
            sa.String(length=2),
            nullable=True,
            comment="null: the built-in word's, or en",
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "action IN ('none', 'opt_out', 'opt_in', 'help')", name="keywords_action"
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.ForeignKeyConstraint(["number_id"], ["numbers.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("keywords_by_account", "keywords", ["account_id", "sandbox", "id"])
    op.create_index(
        "keywords_of_number",
        "keywords",
        ["number_id", "folded"],
        unique=True,
        sqlite_where=sa.text("number_id IS NOT NULL"),
        postgresql_where=sa.text("number_id IS NOT NULL"),
    )
    op.create_index(
        "keywords_of_account",
        "keywords",
        ["account_id", "sandbox", "folded"],
        unique=True,
        sqlite_where=sa.text("number_id IS NULL"),
        postgresql_where=sa.text("number_id IS NULL"),
    )
    op.create_table(
        "keyword_replies",
        sa.Column("account_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "phone",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="E.164 digits as a number",
        ),
        sa.Column("replied_at_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "confirmed_at_ms",
            sa.BigInteger(),
            nullable=True,
            comment="when it was told last that it has opted out",
        ),
        sa.PrimaryKeyConstraint("account_id", "sandbox", "phone"),
    )
    op.create_index("keyword_replies_by_age", "keyword_replies", ["replied_at_ms"])
