"""Says what one segment to a number brings and costs with the carrier that takes it."""

from sqlalchemy.engine import Connection

from heliograph.carriers import Carrier, current_rates
from heliograph.pricing.costs import Costs, load_costs
from heliograph.pricing.market import Beginning, SegmentMargin
from heliograph.pricing.weighed_rows import weighed_rows
from heliograph.text import Phone
from heliograph.wallet.prices import all_prices


def margin_in_words(
    tx: Connection, phone: Phone, rate: current_rates.Rate, carrier: Carrier
) -> str:
    """Returns in a sentence what the carrier charges for a segment to a number, what the credits of
    the rate that decides are sold for, and what is left.
    """
    cost = Costs(load_costs(tx, carrier.id)).cost_of(carrier.id, phone.digits)
    if cost is None:
        return f"What {carrier.name} charges for it is not known."
    price = next((each for each in all_prices(tx) if each.currency == cost.currency), None)
    weighed = SegmentMargin(Beginning(phone.digits, phone.country_code), rate, cost, price)
    [row] = weighed_rows([weighed], {carrier.id: carrier.name})
    charges = f"{carrier.name} charges {row.cost} {row.currency} a segment"
    if row.sold is None:
        return f"{charges}. Credits are not sold in {row.currency}, so no margin is known."
    loss = ", which is a loss" if row.is_loss else ""
    return (
        f"{charges}, and its credits are sold for {row.sold} {row.currency}: the margin is"
        f" {row.margin} {row.currency}{loss}."
    )
