"""Writes what a segment brings and costs as rows of a table and of a file. It is pure."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Final, NamedTuple

from heliograph.base.csv.cells import line_of, neutralize
from heliograph.carriers import GENERAL
from heliograph.pricing.costs import micro_text
from heliograph.pricing.market import SegmentMargin

COLUMNS: Final = (
    *("numbers", "margin", "brings", "costs", "currency", "carrier", "rate"),
    *("account", "credits"),
)


class WeighedRow(NamedTuple):
    """Holds one row. `sold` and `margin` are None where nothing can be compared."""

    numbers: str  # which are meant, in words
    rate: str  # which decides
    is_own: bool
    credits: int
    carrier: str
    currency: str
    sold: str | None
    cost: str
    margin: str | None
    is_loss: bool


def weighed_rows(weighed: Iterable[SegmentMargin], names: Mapping[int, str]) -> list[WeighedRow]:
    """Returns the rows, in the order in which they are given."""
    return [
        WeighedRow(
            numbers=each.beginning.words,
            rate=each.rate.destination,
            is_own=each.rate.account_id != GENERAL,
            credits=each.rate.credits or 0,
            carrier=names[each.cost.carrier_id],
            currency=each.cost.currency,
            sold=None if each.sold_micro is None else _text(floor(each.sold_micro)),
            cost=each.cost.amount,
            margin=None if each.margin_micro is None else _text(floor(each.margin_micro)),
            is_loss=each.is_loss,
        )
        for each in weighed
    ]


def weighed_file(
    weighed: Sequence[SegmentMargin], names: Mapping[int, str], owners: Mapping[str, str]
) -> str:
    """Returns the rows as CSV. `owners` has the text ids of those who have own rates, by raw id."""
    lines: list[tuple[str, ...]] = [COLUMNS]
    lines += [
        (
            row.numbers,
            row.margin or "",
            row.sold or "",
            row.cost,
            row.currency,
            neutralize(row.carrier),
            row.rate,
            owners.get(each.rate.account_id, ""),
            str(row.credits),
        )
        for each, row in zip(weighed, weighed_rows(weighed, names), strict=True)
    ]
    # the other cells are ours, and a margin below zero stays a number
    return "".join(line_of(line, ",") for line in lines)


def _text(amount_micro: int) -> str:
    sign = "-" if amount_micro < 0 else ""
    return sign + micro_text(abs(amount_micro))
