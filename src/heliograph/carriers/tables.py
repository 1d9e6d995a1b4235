"""Defines the tables of carriers, of the links that processes have to them, of routes and
of rates.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata

carriers = sa.Table(
    "carriers",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(64), nullable=False, unique=True),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("settings", sa.Text, nullable=False, comment="JSON"),
    sa.Column("password", sa.Text, nullable=True, comment="encrypted"),
    sa.Column(
        "draining",
        sa.Boolean,
        nullable=False,
        comment="takes no new messages; what it has goes out",
    ),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("state_detail", sa.String(255), nullable=False),
    sa.Column("down_since_ms", sa.BigInteger, nullable=True),
    sa.Column(
        "id_format", sa.String(16), nullable=True, comment="how its receipts print ids, once learnt"
    ),
    sa.Column(
        "parked_read_as",
        sa.String(16),
        nullable=False,
        server_default="auto",
        comment="the format in which the receipts that found no message were last read",
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "paused",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="nothing is handed over to it; its binds stay",
    ),
    sa.CheckConstraint("type IN ('smpp', 'simulator')", name="carriers_type"),
)

links = sa.Table(
    "links",
    metadata,
    sa.Column(
        "epoch", sa.BigInteger, sa.ForeignKey("workers.epoch", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column(
        "carrier_id",
        sa.SmallInteger,
        sa.ForeignKey("carriers.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("state_detail", sa.String(255), nullable=False),
)

routes = sa.Table(
    "routes",
    metadata,
    sa.Column("prefix", sa.String(15), primary_key=True, comment="digits; '' is the default"),
    sa.Column(
        "carrier_ids",
        sa.String(255),
        nullable=False,
        comment="comma-separated, the first that is up is taken",
    ),
    sa.Column(
        "weights",
        sa.String(255),
        nullable=True,
        comment="comma-separated, of the first carriers, which share; null: none has one",
    ),
)

GENERAL = "0" * 32  # the account of rates that hold for all

rates = sa.Table(
    "rates",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column(
        "destination",
        sa.String(15),
        primary_key=True,
        comment="digits: a prefix; two letters: a country; 'default'",
    ),
    sa.Column(
        "credits", sa.Integer, nullable=True, comment="per segment; null: refused with no_rate"
    ),
    sa.CheckConstraint("credits >= 0", name="rates_credits"),
)
