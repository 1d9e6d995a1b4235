"""Each opt-out and opt-in of a contact: when, and by whom.

The version before goes on working: what it changes meanwhile is not recorded.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0023"

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
