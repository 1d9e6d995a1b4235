"""Shows what carriers took by day, what it was charged and cost, and the margin."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.clock import date_in_utc
from heliograph.base.csv.cells import line_of
from heliograph.base.forms import Query
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.monitoring import carrier_days
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download
from heliograph.pricing import micro_text
from heliograph.wallet import money

CARRIER_DAYS_LISTED_MAX: Final = 500  # of days, carriers and currencies; the file has all
COLUMNS: Final = (
    *("day", "carrier", "segments", "credits", "currency", "cost", "sold_for_now", "margin_now"),
)


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the last days of all carriers, and their sums."""
    Query(request.sent.query).finish()
    days = carrier_days.days_of_carriers(tx, request.now_ms)
    newest = sorted(days, key=lambda each: -each.day_ms)  # those of a day stay in order
    return page(
        "carrier_money.html",
        request,
        visit,
        sums=carrier_days.by_carrier(days),
        rows=[(date_in_utc(each.day_ms), each) for each in newest[:CARRIER_DAYS_LISTED_MAX]],
        is_cut=len(days) > CARRIER_DAYS_LISTED_MAX,
        days_shown=carrier_days.CARRIER_DAYS_SHOWN,
        began_ms=carrier_days.carrier_money_began_ms(tx, request.now_ms),
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the last days of all carriers as a file, oldest first."""
    Query(request.sent.query).finish()
    return Download(
        "money-by-carrier.csv", _lines(carrier_days.days_of_carriers(tx, request.now_ms))
    )


def _lines(days: list[carrier_days.CarrierDay]) -> Iterator[str]:
    yield line_of(COLUMNS, ",")
    for each in days:

        def amount(minor: int | None, currency: str = each.currency) -> str:
            return "" if minor is None else str(money.to_number(minor, currency))

        cells = (
            date_in_utc(each.day_ms),
            each.carrier,
            str(each.money.segments),
            str(each.money.credits),
            each.currency,
            micro_text(each.money.cost_micro) if each.currency else "",
            amount(each.sold_minor),
            amount(each.margin_minor),
        )
        yield line_of(cells, ",")
