"""Defines the tables of contacts, the people an account sends to, and of their history."""

import sqlalchemy as sa

from heliograph.base.short_texts import EMAIL_MAX
from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where

NAME_MAX = 128
CHANGER_NAME_MAX = 254  # an address of a user is the longest

contacts = sa.Table(
    "contacts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("phone", sa.BigInteger, nullable=False, comment="E.164 digits as a number"),
    sa.Column("country_code", sa.String(2), nullable=True),
    sa.Column("name", sa.String(NAME_MAX), nullable=True),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=True),
    sa.Column("tags", sa.Text, nullable=False, comment="JSON: an array of strings"),
    sa.Column("custom", sa.Text, nullable=False, comment="JSON: an object of strings"),
    sa.Column("opted_out", sa.Boolean, nullable=False),
    sa.Column(
        "searched", sa.Text, nullable=False, comment="what a search looks through, in lower case"
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "shelf",
        sa.Integer,
        nullable=True,
        comment="where PostgreSQL's index of its trigrams has it",
    ),
    sa.Index("contacts_once", "account_id", "sandbox", "phone", unique=True),
    sa.Index("contacts_by_account", "account_id", "sandbox", "id"),
    # who has opted out is asked for at each chunk of each campaign
    sa.Index(
        "contacts_opted_out",
        "account_id",
        "sandbox",
        "phone",
        **only_where("opted_out"),
    ),
    # trigrams of `searched`, each behind the number of its search bucket
    sa.Index(
        "contacts_grams",
        sa.text("contact_grams(shelf, searched)"),
        info={"postgresql_using": "gin", "postgresql_with": {"gin_pending_list_limit": 256}},
    ).ddl_if(dialect="postgresql"),
    # tags, each behind the number of its search bucket
    sa.Index(
        "contacts_tags",
        sa.text("contact_tags(shelf, tags)"),
        info={
            "postgresql_using": "gin",
            "postgresql_with": {"fastupdate": "off"},
            "postgresql_where": sa.text("tags <> '[]'"),
        },
    ).ddl_if(dialect="postgresql"),
)

# Each time that a contact was opted out or in (contacts/opt_out_history.py). No foreign keys: they
# would lock the account, after its contacts.
opt_out_changes = sa.Table(
    "opt_out_changes",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("contact_id", RawId, nullable=False),
    sa.Column("opted_out", sa.Boolean, nullable=False),
    sa.Column("by_kind", sa.String(8), nullable=False),
    sa.Column(
        "by_name",
        sa.String(CHANGER_NAME_MAX),
        nullable=True,
        comment="address of a user, or name of a key",
    ),
    sa.Column("is_import", sa.Boolean, nullable=False),
    sa.CheckConstraint("by_kind IN ('user', 'key', 'operator')", name="opt_out_changes_by_kind"),
    sa.Index("opt_out_changes_by_contact", "contact_id", "id"),
)

# Files of contacts that are imported, and how far each has come (contacts/stored_import.py). No
# foreign key: it would lock the account.
contact_imports = sa.Table(
    "contact_imports",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("by_name", sa.String(CHANGER_NAME_MAX), nullable=False, comment="address of a user"),
    sa.Column("country_code", sa.String(2), nullable=True, comment="how phones are dialled"),
    sa.Column("columns", sa.Text, nullable=False, comment="JSON: what the file calls fields"),
    sa.Column(
        "file", sa.LargeBinary, nullable=True, comment="null: no row of it is still to be done"
    ),
    sa.Column("rows_total", sa.Integer, nullable=False),
    sa.Column("rows_done", sa.Integer, nullable=False),
    sa.Column("created", sa.Integer, nullable=False),
    sa.Column("updated", sa.Integer, nullable=False),
    sa.Column("repeated", sa.Integer, nullable=False),
    sa.Column("bad", sa.Integer, nullable=False),
    sa.Column("line", sa.Integer, nullable=False, comment="up to which the file is done"),
    sa.Column("told", sa.Text, nullable=False, comment="JSON: stored_import.ImportReport"),
    sa.Column("moved_at_ms", sa.BigInteger, nullable=False),
    sa.Column("ended_at_ms", sa.BigInteger, nullable=True),
    sa.Column("why", sa.Text, nullable=True, comment="what has stopped it; null: nothing"),
    sa.Index("contact_imports_by_account", "account_id", "id"),
    # one at a time
    sa.Index(
        "contact_imports_running", "account_id", unique=True, **only_where("ended_at_ms IS NULL")
    ),
)

# Contacts of an account and mode by age, some thousands to a bucket: a search goes through them
# newest first, and ends when its page is full.
contact_shelves = sa.Table(
    "contact_shelves",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column(
        "first_id",
        RawId,
        nullable=False,
        comment="its contacts' ids are not below this, and below the next one's",
    ),
    sa.Column(
        "size", sa.Integer, nullable=False, comment="contacts that were put there, deleted ones too"
    ),
    sa.Index("contact_shelves_once", "account_id", "sandbox", "first_id", unique=True),
)
