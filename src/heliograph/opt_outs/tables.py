"""Defines the table of suppressions: who wants no texts of an account, or of one of its senders."""

from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where

SUPPRESSED_SENDER_MAX: Final = 64  # as long as the sender of a send may be


class OptOutSource(StrEnum):
    """Lists where an opt-out comes from. The value is the one in the database."""

    KEYWORD = "keyword"  # the person texted STOP
    API = "api"
    PORTAL = "portal"
    IMPORT = "import"  # a file of contacts
    CARRIER = "carrier"
    OPERATOR = "operator"  # a command


# It holds for all rows. The index of an account's opt-outs by age is only for them, and PostgreSQL
# takes that index only where a query says so, too. So what looks for a phone has one way, whatever
# the planner thinks of the table: the primary key (docs/decisions/opt-outs.md, O13).
OF_ANY_PHONE: Final = "source <> ''"

# A row outlives the contact that it was made for. It was made when its id says. Both indexes hold
# account and mode first: nothing is read without them.
suppressions = sa.Table(
    "suppressions",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column("sandbox", sa.Boolean, primary_key=True),
    sa.Column(
        "phone",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="E.164 digits as a number",
    ),
    sa.Column(
        "sender",
        sa.String(SUPPRESSED_SENDER_MAX),
        primary_key=True,
        comment="in lower case: whose texts are not wanted; empty: nobody's of the account",
    ),
    sa.Column("id", RawId, nullable=False),
    sa.Column("source", sa.String(8), nullable=False),
    sa.CheckConstraint(
        "source IN ('keyword', 'api', 'portal', 'import', 'carrier', 'operator')",
        name="suppressions_source",
    ),
    sa.Index(
        "suppressions_newest",
        "account_id",
        "sandbox",
        "id",
        unique=True,
        **only_where(OF_ANY_PHONE),
    ),
)

# Who has just opted out: until what is queued for that phone, and what campaigns have for it, is
# taken back (opt_outs/notes.py).
opt_outs = sa.Table(
    "opt_outs",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column("sandbox", sa.Boolean, primary_key=True),
    sa.Column(
        "phone",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="E.164 digits as a number",
    ),
    sa.Column(
        "due_ms",
        sa.BigInteger,
        nullable=False,
        comment="when it is looked at next; 0: for the first time",
    ),
    sa.Column(
        "whole",
        sa.Boolean,
        nullable=False,
        server_default=sa.true(),
        comment="it is about all texts of the account; else about those of some sender",
    ),
    sa.Index("opt_outs_due", "due_ms"),
)
