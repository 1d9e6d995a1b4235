"""A cost is what a carrier charges for one segment to the numbers of a prefix. The longest prefix
counts. It is compared with what the SMS credits of a segment are sold for (`market.py`).
"""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import carrier_named, routing
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.pricing.tables import carrier_costs
from heliograph.wallet import money

# Carriers quote to a hundredth of a cent and finer (docs/decisions/pricing.md, PR1).
MICRO_PLACES: Final = 6
AMOUNT_MICRO_MAX: Final = 10**12  # a million units a segment, which no currency comes near
COSTS_MAX: Final = 5_000  # of all carriers; a page weighs all of them within 100 ms


class CarrierCost(NamedTuple):
    """Says what a segment to the numbers of a prefix costs with a carrier, in millionths of the
    currency's unit. The prefix "" is for all other numbers.
    """

    carrier_id: int
    prefix: str
    currency: str
    amount_micro: int

    @property
    def amount(self) -> str:
        """Returns the amount as people write it, such as `0.0125`."""
        return micro_text(self.amount_micro)


class Costs:
    """Holds all costs, indexed so that the cost of a number is found quickly."""

    def __init__(self, costs: Iterable[CarrierCost]) -> None:
        self._by_place = {(cost.carrier_id, cost.prefix): cost for cost in costs}
        self.prefixes = frozenset(prefix for _, prefix in self._by_place)
        self._lengths = sorted({len(prefix) for prefix in self.prefixes}, reverse=True)

    def cost_of(self, carrier_id: int, digits: str) -> CarrierCost | None:
        """Returns what a segment to these digits costs with a carrier; None if it is not known."""
        for length in self._lengths:
            if (found := self._by_place.get((carrier_id, digits[:length]))) is not None:
                return found
        return None


def micro_text(amount_micro: int) -> str:
    """Converts 12500 to `0.0125`, and 1250000 to `1.25`."""
    text = f"{Decimal(amount_micro).scaleb(-MICRO_PLACES):.{MICRO_PLACES}f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<2}"


def set_cost(
    tx: Connection, carrier_name: str, prefix: str, amount: Decimal | str, currency: str
) -> CarrierCost:
    """Sets what a segment costs with a carrier. Raises NotFound for an unknown carrier, and
    InvalidRequest.
    """
    prefix = routing.stored_prefix(prefix)
    code, micro = money.currency(currency), _micro(amount)
    config.bump(tx)  # first: its row's lock makes two changes wait for each other
    cost = CarrierCost(carrier_named(tx, carrier_name).id, prefix, code, micro)
    _delete(tx, cost.carrier_id, prefix)
    if tx.execute(sa.select(sa.func.count()).select_from(carrier_costs)).scalar_one() >= COSTS_MAX:
        raise invalid_field("prefix", f"is one too many: at most {COSTS_MAX} costs are kept")
    tx.execute(carrier_costs.insert().values(cost._asdict()))
    return cost


def remove_cost(tx: Connection, carrier_name: str, prefix: str) -> CarrierCost:
    """Forgets a cost, and returns what it was. Raises NotFound, and InvalidRequest."""
    config.bump(tx)
    carrier = carrier_named(tx, carrier_name)
    known = {cost.prefix: cost for cost in load_costs(tx, carrier.id)}
    found = known.get(routing.stored_prefix(prefix, known=known))
    if found is None:
        raise NotFound(f"There is no cost of {carrier_name} for {quote_value(prefix)}.")
    _delete(tx, carrier.id, found.prefix)
    return found


def load_costs(
    tx: Connection, carrier_id: int | None = None, limit: int | None = None
) -> list[CarrierCost]:
    """Returns the costs of all carriers, or of one, by carrier and prefix: all, or the first."""
    columns = carrier_costs.c
    query = sa.select(carrier_costs).order_by(columns.carrier_id, columns.prefix)
    if carrier_id is not None:
        query = query.where(columns.carrier_id == carrier_id)
    if limit is not None:
        query = query.limit(limit)
    return records_of(CarrierCost, tx.execute(query))


def _delete(tx: Connection, carrier_id: int, prefix: str) -> None:
    columns = carrier_costs.c
    tx.execute(
        sa.delete(carrier_costs).where(columns.carrier_id == carrier_id, columns.prefix == prefix)
    )


def _micro(amount: Decimal | str) -> int:
    """Returns an amount in millionths of its currency. Raises InvalidRequest for what is not an
    amount of at most six decimals.
    """
    text = str(amount)
    try:
        exact = Decimal(text)
    except InvalidOperation as error:
        raise invalid_field("amount", f"must be a number, not {quote_value(text)}") from error
    # first: Decimal's own arithmetic with 1E+999999 costs much
    if not exact.is_finite() or exact.adjusted() > len(str(AMOUNT_MICRO_MAX)):
        raise invalid_field("amount", f"must be a number up to a million, not {quote_value(text)}")
    micro = exact.scaleb(MICRO_PLACES)
    if micro != micro.to_integral_value():
        raise invalid_field("amount", f"has more than {MICRO_PLACES} decimals: {quote_value(text)}")
    if not 0 <= micro <= AMOUNT_MICRO_MAX:
        raise invalid_field("amount", f"must be from 0 to a million, not {quote_value(text)}")
    return int(micro)
