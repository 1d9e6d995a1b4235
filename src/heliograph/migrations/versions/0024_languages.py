"""Stores the language that a user has chosen, and that of a mail.

The version before goes on working: it knows nothing of the new columns.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    for table, comment in (
        ("users", "if one was chosen"),
        ("sign_ups", "of the form"),
        ("mails", "of who asked for it"),
    ):
        op.add_column(
            table, sa.Column("language", sa.String(length=8), nullable=True, comment=comment)
        )
