"""Reads what carriers took by day, what it was charged and cost, and what that leaves."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import carriers
from heliograph.base.clock import DAY_MS
from heliograph.monitoring.carrier_money import SegmentMoney
from heliograph.monitoring.tables import carrier_money, carrier_rollups
from heliograph.pricing import MICRO_PLACES
from heliograph.wallet import money
from heliograph.wallet.prices import Price, all_prices

CARRIER_DAYS_SHOWN: Final = 30


class CarrierDay(NamedTuple):
    """Holds what a carrier took on a day in UTC, of what costs in one currency, which is empty if
    no cost is known. `price` sells credits in it, and is None if they are not sold in it.
    """

    day_ms: int
    carrier: str
    currency: str
    money: SegmentMoney
    price: Price | None

    @property
    def cost_minor(self) -> int | None:
        """Returns the cost in the currency's smallest unit, rounded; None if it is not known."""
        return round(Fraction(self.money.cost_micro, self._micro)) if self.currency else None

    @property
    def sold_minor(self) -> int | None:
        """Returns what the credits are sold for at the present price, rounded."""
        return None if self.price is None else round(self._sold_for(self.price))

    @property
    def margin_minor(self) -> int | None:
        """Returns what the credits are sold for less the cost, rounded once."""
        if self.price is None:
            return None
        return round(self._sold_for(self.price) - Fraction(self.money.cost_micro, self._micro))

    @property
    def _micro(self) -> int:
        return int(10 ** (MICRO_PLACES - money.exponent(self.currency)))

    def _sold_for(self, price: Price) -> Fraction:
        return Fraction(self.money.credits * price.amount_minor, price.credits)


def days_of_carriers(tx: Connection, now_ms: int) -> list[CarrierDay]:
    """Returns the last CARRIER_DAYS_SHOWN days of all carriers, the oldest first. They are read
    by several statements, which must see one moment (`Database.snapshot`).
    """
    columns = carrier_money.c
    day_ms = columns.quarter_ms - columns.quarter_ms % DAY_MS
    query = (
        sa.select(
            day_ms.label("day_ms"),
            columns.carrier_id,
            columns.currency,
            *(sa.func.sum(columns[name]).label(name) for name in SegmentMoney._fields),
        )
        .where(columns.quarter_ms >= _since_ms(now_ms))
        .group_by(day_ms, columns.carrier_id, columns.currency)
    )
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    prices = {price.currency: price for price in all_prices(tx)}
    found = [
        CarrierDay(
            int(row.day_ms),
            names.get(row.carrier_id) or removed_carrier(row.carrier_id),
            row.currency,
            SegmentMoney(int(row.segments), int(row.credits), int(row.cost_micro)),
            prices.get(row.currency),
        )
        for row in tx.execute(query)
    ]
    return sorted(found, key=lambda each: (each.day_ms, each.carrier, each.currency))


def removed_carrier(carrier_id: int) -> str:
    """Returns what stands for the name of a carrier that was removed. Ids are chosen at random, so
    it hardly ever means another carrier.
    """
    return f"carrier {carrier_id} (removed)"


def carrier_money_began_ms(tx: Connection, now_ms: int) -> int | None:
    """Returns when the money of carriers began to be counted, if some of what they took in the
    days that are shown has none: the version of the service that counted it did not count money.
    """
    since_ms = _since_ms(now_ms)
    segments, money = carrier_rollups.c, carrier_money.c
    first_segments_ms = tx.execute(
        sa.select(sa.func.min(segments.quarter_ms)).where(
            segments.quarter_ms >= since_ms,
            # what the simulator took is of the sandbox too, which has no money
            segments.carrier_id != carriers.SIMULATOR_ID,
        )
    ).scalar_one()
    first_money_ms = tx.execute(
        sa.select(sa.func.min(money.quarter_ms)).where(money.quarter_ms >= since_ms)
    ).scalar_one()
    if first_segments_ms is None or first_money_ms is None or first_segments_ms >= first_money_ms:
        return None
    return int(first_money_ms)


def _since_ms(now_ms: int) -> int:
    return now_ms - now_ms % DAY_MS - (CARRIER_DAYS_SHOWN - 1) * DAY_MS


def by_carrier(days: Iterable[CarrierDay]) -> list[CarrierDay]:
    """Returns the sums over all days, by carrier and currency. Each sum has the first of the days
    as its day.
    """
    found: dict[tuple[str, str], CarrierDay] = {}
    for each in days:
        key = (each.carrier, each.currency)
        known = found.get(key)
        found[key] = each if known is None else known._replace(money=known.money.plus(each.money))
    return [found[key] for key in sorted(found)]
