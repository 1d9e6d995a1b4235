"""Adds what lets a user in beside a password or a link: codes of an authenticator app,
recovery codes and passkeys. It also adds people who sign up, until they have opened the link that
was mailed to them.

The version before goes on working: it knows nothing of the new tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "totps",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("secret", sa.Text(), nullable=False, comment="encrypted"),
        sa.Column("made_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("confirmed_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False, comment="whose code was used last"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("recovery_codes_by_user", "recovery_codes", ["user_id"])
    op.create_table(
        "waiting_sign_ins",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("waiting_sign_ins_by_user", "waiting_sign_ins", ["user_id"])
    op.create_index("waiting_sign_ins_by_age", "waiting_sign_ins", ["expires_at_ms"])
    op.create_table(
        "passkeys",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(length=1023), nullable=False),
        sa.Column("credential", sa.LargeBinary(), nullable=False, comment="with its public key"),
        sa.Column(
            "signatures", sa.BigInteger(), nullable=False, comment="as the passkey counts them"
        ),
        sa.Column("made_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger(), nullable=True, comment="the last time"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("credential_id"),
    )
    op.create_index("passkeys_by_user", "passkeys", ["user_id"])
    op.create_table(
        "used_challenges",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("used_challenges_by_age", "used_challenges", ["expires_at_ms"])
    op.create_table(
        "sign_ups",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("company", sa.String(length=128), nullable=False),
        sa.Column("country_code", sa.String(length=2), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column(
            "sha256",
            sa.LargeBinary(length=32),
            nullable=True,
            comment="of its link, once mailed",
        ),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=True, comment="null: it was mailed"),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
    )
    op.create_index("sign_ups_by_link", "sign_ups", ["sha256"])
    op.create_index("sign_ups_by_due", "sign_ups", ["due_at_ms"])
    op.create_index("sign_ups_by_age", "sign_ups", ["expires_at_ms"])
