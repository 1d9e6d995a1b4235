"""Defines the tables of our numbers, of their keywords, of the texts that come in to them, and of
the parts of incomplete texts.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS
from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.database.pruning import PruningRule

DIGITS_MAX: Final = 15  # as long as a phone number may be
# the values of `numbers.opt_out_scope`
WHOLE_ACCOUNT_SCOPE: Final = "account"
ONE_SENDER_SCOPE: Final = "sender"
KEYWORD_MAX: Final = 32  # characters of a keyword
ADDRESS_MAX: Final = 64  # characters; carriers may name a sender by letters

numbers = sa.Table(
    "numbers",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column(
        "carrier_id",
        sa.SmallInteger,
        sa.ForeignKey("carriers.id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("digits", sa.String(DIGITS_MAX), nullable=False),
    sa.Column(
        "account_id",
        RawId,
        sa.ForeignKey("accounts.id"),
        nullable=True,
        comment="null: several accounts share it",
    ),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "first_word",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="a keyword may stand before other words",
    ),
    sa.Column(
        "opt_out_scope",
        sa.String(8),
        nullable=False,
        server_default=WHOLE_ACCOUNT_SCOPE,
        comment="of whose texts one opts out on it: account, or sender, which is the number alone",
    ),
    sa.Column(
        "catch_all_id",
        RawId,
        nullable=True,
        comment="of a shared one: the account that gets what is no other's",
    ),
    sa.Index("numbers_once", "carrier_id", "digits", unique=True),
    sa.Index("numbers_by_account", "account_id", "sandbox", "id"),
)

# Those of a number that several accounts share are one account's each. Those without a number hold
# for all numbers of their account.
keywords = sa.Table(
    "keywords",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column(
        "number_id",
        RawId,
        sa.ForeignKey("numbers.id", ondelete="CASCADE"),
        nullable=True,
        comment="null: all numbers of the account",
    ),
    sa.Column("keyword", sa.String(KEYWORD_MAX), nullable=False, comment="as it was written"),
    sa.Column("folded", sa.String(KEYWORD_MAX), nullable=False, comment="as it is compared"),
    sa.Column("action", sa.String(8), nullable=False),
    sa.Column("reply", sa.Text, nullable=True, comment="null: the built-in one of its action"),
    sa.Column("language", sa.String(2), nullable=True, comment="null: the built-in word's, or en"),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint("action IN ('none', 'opt_out', 'opt_in', 'help')", name="keywords_action"),
    sa.Index("keywords_by_account", "account_id", "sandbox", "id"),
    sa.Index(
        "keywords_of_number",
        "number_id",
        "folded",
        unique=True,
        **only_where("number_id IS NOT NULL"),
    ),
    sa.Index(
        "keywords_of_account",
        "account_id",
        "sandbox",
        "folded",
        unique=True,
        **only_where("number_id IS NULL"),
    ),
)

# Whom an account's keywords have answered lately, so that no phone is answered too often.
keyword_replies = sa.Table(
    "keyword_replies",
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
    sa.Column("replied_at_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "confirmed_at_ms",
        sa.BigInteger,
        nullable=True,
        comment="when it was told last that it has opted out",
    ),
    sa.Index("keyword_replies_by_age", "replied_at_ms"),
)
REPLIES_KEPT: Final = (PruningRule(keyword_replies.name, "replied_at_ms", DAY_MS, is_counts=True),)

inbound = sa.Table(
    "inbound",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column(
        "account_id", RawId, nullable=True, comment="null: nobody's, or of a number that is shared"
    ),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column(
        "sender",
        sa.String(ADDRESS_MAX),
        nullable=True,
        comment="the handset: digits, or a name; null after retention",
    ),
    sa.Column("recipient", sa.String(ADDRESS_MAX), nullable=False),
    sa.Column(
        "text", sa.Text, nullable=True, comment="base64 if it is binary; null after retention"
    ),
    sa.Column("encoding", sa.String(8), nullable=False),
    sa.Column("parts", sa.SmallInteger, nullable=False),
    sa.Column("parts_received", sa.SmallInteger, nullable=False),
    sa.Column(
        "pdu",
        RawId,
        nullable=True,
        comment="128 bits of a hash of what came, by which it is known again; null of several",
    ),
    sa.Column("repeats", sa.Integer, nullable=False, comment="how often the carrier sent it again"),
    sa.Column("received_at_ms", sa.BigInteger, nullable=False, comment="its first part"),
    sa.Column("keyword", sa.String(KEYWORD_MAX), nullable=True, comment="folded"),
    sa.Column("opt_out_suspected", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("in_reply_to", RawId, nullable=True, comment="the message of ours that it answers"),
    sa.Index("inbound_by_account", "account_id", "sandbox", "id"),
    sa.Index(
        "inbound_by_sender",
        "account_id",
        "sandbox",
        "sender",
        "id",
        **only_where("account_id IS NOT NULL AND sender IS NOT NULL"),
    ),
    sa.Index("inbound_by_pdu", "carrier_id", "pdu", "id", **only_where("pdu IS NOT NULL")),
    sa.Index("inbound_with_sender", "id", **only_where("sender IS NOT NULL")),
)

# The octets go when the text is whole. The rest stays for a while, so that a part that is sent
# again is known.
inbound_parts = sa.Table(
    "inbound_parts",
    metadata,
    sa.Column("group_id", RawId, primary_key=True, comment="the same for all parts of a text"),
    sa.Column("number", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("total", sa.SmallInteger, nullable=False),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column("sender", sa.String(ADDRESS_MAX), nullable=False),
    sa.Column("recipient", sa.String(ADDRESS_MAX), nullable=False),
    sa.Column("reference", sa.Integer, nullable=False, comment="its kind, and the phone's number"),
    sa.Column("alphabet", sa.String(8), nullable=False),
    sa.Column("octets", sa.LargeBinary, nullable=False),
    sa.Column("pdu", RawId, nullable=False),
    sa.Column("repeats", sa.Integer, nullable=False),
    sa.Column("received_at_ms", sa.BigInteger, nullable=False),
    sa.Column("inbound_id", RawId, nullable=True, comment="the text, once it is stored"),
    sa.Column(
        "is_national",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="the sender has no country code",
    ),
    sa.Index("inbound_parts_by_text", "carrier_id", "sender", "recipient", "reference"),
    sa.Index("inbound_parts_by_age", "received_at_ms"),
)

# They are kept for as many days as the operator has set for messages.
KEPT_AS_MESSAGES: Final = (PruningRule(inbound.name, "id", 0),)
