"""Defines the tables of what carriers charge, and of rate sheets."""

from typing import Final

import sqlalchemy as sa

from heliograph.base.short_texts import EMAIL_MAX, REASON_MAX
from heliograph.database.database import RawId, metadata
from heliograph.database.pruning import PruningRule
from heliograph.pricing.states import SHEET, SHEETS_KEPT_MS

SHEET_NAME_MAX: Final = 128  # characters of a file's name

carrier_costs = sa.Table(
    "carrier_costs",
    metadata,
    sa.Column(
        "carrier_id",
        sa.SmallInteger,
        sa.ForeignKey("carriers.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("prefix", sa.String(15), primary_key=True, comment="digits; '' is all other numbers"),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column(
        "amount_micro", sa.BigInteger, nullable=False, comment="millionths of the currency's unit"
    ),
    sa.CheckConstraint("amount_micro >= 0", name="carrier_costs_amount"),
)

rate_sheets = sa.Table(
    "rate_sheets",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("name", sa.String(SHEET_NAME_MAX), nullable=False, comment="of the file"),
    sa.Column(
        "is_whole", sa.Boolean, nullable=False, comment="rates that it does not have are removed"
    ),
    sa.Column("lines", sa.Text, nullable=False, comment="JSON: [account, destination, credits], …"),
    sa.Column("user_id", RawId, nullable=True, comment="null: a command"),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=True),
    sa.Column("effective_at_ms", sa.BigInteger, nullable=True, comment="null: not given yet"),
    sa.Column("allows_loss", sa.Boolean, nullable=False),
    sa.Column("reason", sa.String(REASON_MAX), nullable=True),
    sa.Column("ended_at_ms", sa.BigInteger, nullable=True, comment="applied or withdrawn"),
    sa.CheckConstraint(SHEET.is_in(*SHEET.states), name="rate_sheets_status"),
    sa.Index("rate_sheets_by_time", "status", "effective_at_ms"),
)

KEPT: Final = (PruningRule(rate_sheets.name, "id", SHEETS_KEPT_MS, is_counts=True),)
