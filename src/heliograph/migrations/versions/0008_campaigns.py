"""Adds contacts and campaigns, and stores which messages belong together."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

ID = sa.Uuid(as_uuid=False)

# The pieces of three characters that a text has, fewer at its end, each behind the number of its
# shelf: `7.kof`, `7.ofi`, `7.fi`, `7.i`.
GRAMS = """
CREATE FUNCTION contact_grams(shelf integer, searched text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    grams text[];
    lead text := shelf::text || '.';
BEGIN
    FOR i IN 1..length(searched) LOOP
        grams[i] := lead || substr(searched, i, 3);
    END LOOP;
    RETURN array_to_tsvector(grams);
END $$
"""

# The list of what is pending is looked through by each search, shelf by shelf, so it is kept short.
GRAMS_INDEX = (
    "CREATE INDEX contacts_grams ON contacts USING gin (contact_grams(shelf, searched)) WITH"
    " (gin_pending_list_limit = 256)"
)


def upgrade() -> None:
    op.create_table(
        "contacts",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("phone", sa.BigInteger(), nullable=False, comment="E.164 digits as a number"),
        sa.Column("country_code", sa.String(length=2), nullable=True),
        sa.Column("name", sa.String(length=128), nullable=True),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False, comment="JSON: an array of strings"),
        sa.Column("custom", sa.Text(), nullable=False, comment="JSON: an object of strings"),
        sa.Column("opted_out", sa.Boolean(), nullable=False),
        sa.Column(
            "searched",
            sa.Text(),
            nullable=False,
            comment="what a search looks through, in lower case",
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "shelf",
            sa.Integer(),
            nullable=True,
            comment="where PostgreSQL's index of its trigrams has it",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("contacts_once", "contacts", ["account_id", "sandbox", "phone"], unique=True)
    op.create_index(
        "contacts_by_account", "contacts", ["account_id", "sandbox", "id"], unique=False
    )
    op.create_index(
        "contacts_opted_out",
        "contacts",
        ["account_id", "sandbox", "phone"],
        unique=False,
        postgresql_where=sa.text("opted_out"),
        sqlite_where=sa.text("opted_out"),
    )
    op.create_table(
        "opt_outs",
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "phone",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="E.164 digits as a number",
        ),
        sa.Column(
            "due_ms",
            sa.BigInteger(),
            nullable=False,
            comment="when it is looked at next; 0: for the first time",
        ),
        sa.PrimaryKeyConstraint("account_id", "sandbox", "phone"),
    )
    op.create_index("opt_outs_due", "opt_outs", ["due_ms"], unique=False)
    op.create_table(
        "contact_shelves",
        sa.Column("id", sa.Integer(), sa.Identity(), nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column(
            "first_id",
            ID,
            nullable=False,
            comment="its contacts' ids are not below this, and below the next one's",
        ),
        sa.Column(
            "size",
            sa.Integer(),
            nullable=False,
            comment="contacts that were put there, deleted ones too",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "contact_shelves_once",
        "contact_shelves",
        ["account_id", "sandbox", "first_id"],
        unique=True,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(GRAMS)
        op.execute(GRAMS_INDEX)
    op.create_table(
        "groups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column(
            "held",
            sa.Boolean(),
            nullable=False,
            comment="what was queued of it is kept from every carrier",
        ),
        sa.Column(
            "canceled_at_ms",
            sa.BigInteger(),
            nullable=True,
            comment="what is queued of it since then fails",
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("campaign_id"),
    )
    op.create_table(
        "tallies",
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        sa.Column("queued", sa.BigInteger(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("segments", sa.BigInteger(), nullable=False),
        sa.Column(
            "credits", sa.BigInteger(), nullable=False, comment="charged, less what was refunded"
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
        ),
        sa.PrimaryKeyConstraint("group_id", "slot"),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", ID, nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False, comment="of its messages"),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sandbox", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False, comment="as it was asked for"),
        sa.Column("text", sa.Text(), nullable=False, comment="with its placeholders"),
        sa.Column(
            "audience",
            sa.Text(),
            nullable=False,
            comment='JSON: {"kind": "all" | "tags" | "numbers", "tags": [...]}',
        ),
        sa.Column(
            "validity_s",
            sa.Integer(),
            nullable=False,
            comment="of its messages, each from when it is queued",
        ),
        sa.Column(
            "rate",
            sa.Integer(),
            nullable=True,
            comment="messages a second at most; null: as fast as carriers take them",
        ),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("status_reason", sa.String(length=64), nullable=True),
        sa.Column(
            "waits_for",
            sa.BigInteger(),
            nullable=True,
            comment="credits that the next recipient costs, when it is paused for want of them",
        ),
        sa.Column("as_far_as_credits_reach", sa.Boolean(), nullable=False),
        sa.Column(
            "freezing",
            ID,
            nullable=True,
            comment="who is just writing down its audience: a later one takes that over",
        ),
        sa.Column(
            "recipients_total",
            sa.Integer(),
            nullable=False,
            comment="the frozen audience; 0 before",
        ),
        sa.Column(
            "opted_out",
            sa.Integer(),
            nullable=False,
            comment="left out, when the audience was frozen or since",
        ),
        sa.Column(
            "refused",
            sa.Integer(),
            nullable=False,
            comment="of the audience: no route, no rate, or a country that is not allowed",
        ),
        sa.Column(
            "credits_estimated",
            sa.BigInteger(),
            nullable=True,
            comment="what the whole audience costs, as it was when it was launched",
        ),
        sa.Column(
            "cursor",
            sa.BigInteger(),
            nullable=False,
            comment="the last recipient that has become a message, or was left out",
        ),
        sa.Column(
            "expanded", sa.Boolean(), nullable=False, comment="there is nobody behind the cursor"
        ),
        sa.Column("scheduled_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("completed_at_ms", sa.BigInteger(), nullable=True),
        sa.Column(
            "ended_at_ms",
            sa.BigInteger(),
            nullable=True,
            comment="completed, canceled or failed: nothing will be sent any more",
        ),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('draft', 'scheduled', 'sending', 'paused', 'completed', 'canceled',"
            " 'failed')",
            name="campaigns_status",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("group_id"),
    )
    op.create_index(
        "campaigns_by_account", "campaigns", ["account_id", "sandbox", "id"], unique=False
    )
    op.create_index(
        "campaigns_at_work",
        "campaigns",
        ["id"],
        unique=False,
        postgresql_where=sa.text("ended_at_ms IS NULL"),
        sqlite_where=sa.text("ended_at_ms IS NULL"),
    )
    op.create_table(
        "campaign_recipients",
        sa.Column("group_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "recipient",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="E.164 digits as a number",
        ),
        sa.Column("country_code", sa.String(length=2), nullable=True),
        sa.Column(
            "text",
            sa.Text(),
            nullable=True,
            comment="placeholders filled in; this and the next two: null where all get the same",
        ),
        sa.Column("encoding", sa.String(length=5), nullable=True),
        sa.Column("segments", sa.SmallInteger(), nullable=True),
        sa.PrimaryKeyConstraint("group_id", "recipient"),
    )
    op.add_column("sends", sa.Column("group_id", sa.Integer(), nullable=True))
    op.create_index(
        "sends_by_group",
        "sends",
        ["group_id", "id"],
        unique=False,
        postgresql_where=sa.text("group_id IS NOT NULL"),
        sqlite_where=sa.text("group_id IS NOT NULL"),
    )
    op.add_column("messages", sa.Column("group_id", sa.Integer(), nullable=True))
