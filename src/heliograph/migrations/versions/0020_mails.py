"""Adds invitations to accounts, and mails that are to be sent.

The version before goes on working: it knows nothing of the new tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "invitations",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column(
            "sha256", sa.LargeBinary(length=32), nullable=True, comment="of its link, once mailed"
        ),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "email", name="invitations_once"),
    )
    op.create_index("invitations_by_link", "invitations", ["sha256"])
    op.create_index("invitations_by_age", "invitations", ["expires_at_ms"])
    op.create_table(
        "mails",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=True),
        sa.Column("invitation_id", ID, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(user_id IS NULL) <> (invitation_id IS NULL)", name="mails_kind"),
        sa.ForeignKeyConstraint(["invitation_id"], ["invitations.id"]),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("mails_by_due", "mails", ["due_at_ms"])
    op.create_index("mails_by_age", "mails", ["expires_at_ms"])
    op.create_index("mails_by_user", "mails", ["user_id"])
    op.create_index("mails_by_invitation", "mails", ["invitation_id"])
