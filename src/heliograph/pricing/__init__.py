"""Keeps what carriers charge, weighs rates against it, and applies rate sheets."""

from heliograph.pricing.costs import (
    MICRO_PLACES,
    CarrierCost,
    Costs,
    load_costs,
    micro_text,
    remove_cost,
    set_cost,
)
from heliograph.pricing.difference import RateChange
from heliograph.pricing.loss_of_change import change_with_warning, change_without_loss
from heliograph.pricing.margins import MARGINS_SHOWN_MAX, Margins, load_margins
from heliograph.pricing.rate_change import loss_words
from heliograph.pricing.sheet_file import ROWS_MAX as SHEET_ROWS_MAX
from heliograph.pricing.sheet_file import BadRow, read_credits, read_sheet, write_sheet
from heliograph.pricing.single_rate import change_rate
from heliograph.pricing.tables import KEPT
from heliograph.pricing.taken_segment import margin_in_words
from heliograph.pricing.weighed_rows import WeighedRow, weighed_file, weighed_rows

__all__ = [
    "KEPT",
    "MARGINS_SHOWN_MAX",
    "MICRO_PLACES",
    "SHEET_ROWS_MAX",
    "BadRow",
    "CarrierCost",
    "Costs",
    "Margins",
    "RateChange",
    "WeighedRow",
    "change_rate",
    "change_with_warning",
    "change_without_loss",
    "load_costs",
    "load_margins",
    "loss_words",
    "margin_in_words",
    "micro_text",
    "read_credits",
    "read_sheet",
    "remove_cost",
    "set_cost",
    "sheets",
    "weighed_file",
    "weighed_rows",
    "write_sheet",
]
