"""Stores of a session that it gets another secret when it is used next, and of its row that it has
another one.

The version before rotates no session, and takes a row that is replaced for one that ends soon.
"""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.add_column(
        "user_sessions",
        sa.Column(
            "is_rotation_due",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="its user has got a further role: it gets another secret when it is used next",
        ),
    )
    op.add_column(
        "user_sessions",
        sa.Column(
            "is_replaced",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="the same session has another row, with another secret",
        ),
    )
