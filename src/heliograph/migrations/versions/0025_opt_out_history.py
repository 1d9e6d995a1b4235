"""Stores each opt-out and opt-in of a contact: when it was, and by whom. It adds imports of
files of contacts, too.

The version before goes on working: what it changes meanwhile is not recorded, and it imports files
by itself.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "opt_out_changes",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("opted_out", sa.Boolean(), nullable=False),
        sa.Column("by_kind", sa.String(length=8), nullable=False),
        sa.Column(
            "by_name",
            sa.String(length=254),
            nullable=True,
            comment="address of a user, or name of a key",
        ),
        sa.Column("is_import", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "by_kind IN ('user', 'key', 'operator')", name="opt_out_changes_by_kind"
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("opt_out_changes_by_contact", "opt_out_changes", ["contact_id", "id"])
    op.create_table(
        "contact_imports",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("by_name", sa.String(length=254), nullable=False, comment="address of a user"),
        sa.Column(
            "country_code", sa.String(length=2), nullable=True, comment="how phones are dialled"
        ),
        sa.Column("columns", sa.Text(), nullable=False, comment="JSON: what the file calls fields"),
        sa.Column(
            "file",
            sa.LargeBinary(),
            nullable=True,
            comment="null: no row of it is still to be done",
        ),
        sa.Column("rows_total", sa.Integer(), nullable=False),
        sa.Column("rows_done", sa.Integer(), nullable=False),
        sa.Column("created", sa.Integer(), nullable=False),
        sa.Column("updated", sa.Integer(), nullable=False),
        sa.Column("repeated", sa.Integer(), nullable=False),
        sa.Column("bad", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False, comment="up to which the file is done"),
        sa.Column("told", sa.Text(), nullable=False, comment="JSON: stored_import.ImportReport"),
        sa.Column("moved_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("why", sa.Text(), nullable=True, comment="what has stopped it; null: nothing"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("contact_imports_by_account", "contact_imports", ["account_id", "id"])
    op.create_index(
        "contact_imports_running",
        "contact_imports",
        ["account_id"],
        unique=True,
        postgresql_where=sa.text("ended_at_ms IS NULL"),
        sqlite_where=sa.text("ended_at_ms IS NULL"),
    )
