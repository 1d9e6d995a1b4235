"""Adds the request log and the audit log.

The version before goes on working: it knows nothing of the new tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "request_log",
        sa.Column("id", ID, nullable=False, comment="of the request, as its answer says it"),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("key_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("method", sa.String(length=16), nullable=False),
        sa.Column("endpoint", sa.String(length=128), nullable=False),
        sa.Column("http_status", sa.SmallInteger(), nullable=False),
        sa.Column("code", sa.String(length=32), nullable=True),
        sa.Column("reason", sa.String(length=64), nullable=True),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("request_log_by_account", "request_log", ["account_id", "sandbox", "id"])
    op.create_index(
        "request_log_of_failures",
        "request_log",
        ["account_id", "sandbox", "id"],
        postgresql_where=sa.text("http_status >= 400"),
        sqlite_where=sa.text("http_status >= 400"),
    )
    op.create_index(
        "request_log_of_successes",
        "request_log",
        ["account_id", "sandbox", "id"],
        postgresql_where=sa.text("http_status < 400"),
        sqlite_where=sa.text("http_status < 400"),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("author_kind", sa.String(length=8), nullable=False),
        sa.Column("author_id", ID, nullable=False, comment="of a user or a key"),
        sa.Column("author_name", sa.String(length=254), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column(
            "record", sa.String(length=64), nullable=True, comment="text id of what was changed"
        ),
        sa.Column("detail", sa.String(length=255), nullable=True),
        sa.CheckConstraint("author_kind IN ('user', 'key')", name="audit_log_author_kind"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("audit_log_by_account", "audit_log", ["account_id", "id"])
    op.create_index("audit_log_by_kind", "audit_log", ["account_id", "author_kind", "id"])
