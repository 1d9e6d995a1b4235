"""Adds opt-outs that outlive contacts. Whoever has opted out today is carried over.

The copy reads the index of contacts that have opted out and locks nothing that the version before
writes to. What that version changes meanwhile is in its contacts, and in the history of opt-outs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.create_table(
        "suppressions",
        sa.Column("account_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "phone",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="E.164 digits as a number",
        ),
        sa.Column(
            "sender",
            sa.String(length=64),
            nullable=False,
            comment="in lower case: whose texts are not wanted; empty: nobody's of the account",
        ),
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.CheckConstraint(
            "source IN ('keyword', 'api', 'portal', 'import', 'carrier', 'operator')",
            name="suppressions_source",
        ),
        sa.PrimaryKeyConstraint("account_id", "sandbox", "phone", "sender"),
    )
    # An opt-out was made when the last row of its contact's history says; without one, when the
    # contact was last changed. That time is put in front of the contact's own random digits.
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "INSERT INTO suppressions (account_id, sandbox, phone, sender, id, source)"
            " SELECT c.account_id, c.sandbox, c.phone, '',"
            " coalesce(h.id, CAST(lpad(to_hex(c.updated_at_ms), 12, '0')"
            " || substr(replace(CAST(c.id AS text), '-', ''), 13) AS uuid)),"
            " CASE WHEN h.id IS NULL OR h.is_import THEN 'import' WHEN h.by_kind = 'key' THEN 'api'"
            " WHEN h.by_kind = 'user' THEN 'portal' ELSE 'operator' END"
            " FROM contacts c LEFT JOIN opt_out_changes h ON h.id = (SELECT l.id"
            " FROM opt_out_changes l WHERE l.contact_id = c.id ORDER BY l.id DESC LIMIT 1)"
            " WHERE c.opted_out"
        )
    else:
        op.execute(
            "INSERT INTO suppressions (account_id, sandbox, phone, sender, id, source)"
            " SELECT c.account_id, c.sandbox, c.phone, '',"
            " coalesce(h.id, printf('%012x', c.updated_at_ms) || substr(c.id, 13)),"
            " CASE WHEN h.id IS NULL OR h.is_import THEN 'import' WHEN h.by_kind = 'key' THEN 'api'"
            " WHEN h.by_kind = 'user' THEN 'portal' ELSE 'operator' END"
            " FROM contacts c LEFT JOIN opt_out_changes h ON h.id = (SELECT l.id"
            " FROM opt_out_changes l WHERE l.contact_id = c.id ORDER BY l.id DESC LIMIT 1)"
            " WHERE c.opted_out"
        )
    op.create_index(
        "suppressions_by_account", "suppressions", ["account_id", "sandbox", "id"], unique=True
    )
