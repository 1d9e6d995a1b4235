"""Adds operators of the service, stores what they changed, and how a session was opened.

The version before goes on working: it opens sessions that are not good enough for the console. It
has no audit log, so it needs nothing of the CHECK that grows wider.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
contracts = "the CHECK of audit_log allows operators too, whom the version before never writes"
readable_by = "0010"

ID = sa.Uuid(as_uuid=False)
AUTHOR_KINDS = "author_kind IN ('user', 'key', 'operator')"


def upgrade() -> None:
    op.create_table(
        "operators",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('admin', 'support', 'finance', 'auditor')", name="operators_role"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "operator_log",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("account_id", ID, nullable=True, comment="null: it is of no account"),
        sa.Column(
            "record", sa.String(length=64), nullable=True, comment="text id of what was changed"
        ),
        sa.Column("before", sa.String(length=400), nullable=True),
        sa.Column("after", sa.String(length=400), nullable=True),
        sa.Column("reason", sa.String(length=400), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("operator_log_by_account", "operator_log", ["account_id", "id"])
    op.create_index("operator_log_by_email", "operator_log", ["email", "id"])
    op.add_column(
        "user_sessions",
        sa.Column(
            "is_two_step",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="a passkey or a code has opened it",
        ),
    )
    with op.batch_alter_table("audit_log") as audit_log:
        audit_log.drop_constraint("audit_log_author_kind", type_="check")
        audit_log.create_check_constraint("audit_log_author_kind", AUTHOR_KINDS)
        audit_log.alter_column(
            "author_id",
            existing_type=ID,
            existing_nullable=False,
            comment="of a user, such as an operator, or a key",
        )
