"""Changes one rate, unless it would then sell below cost and nobody has agreed to that."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy.engine import Connection

from heliograph import carriers
from heliograph.base.errors import NotFound
from heliograph.base.forms import shown
from heliograph.base.short_texts import refused
from heliograph.carriers import Rate
from heliograph.database import config
from heliograph.pricing.costs import micro_text
from heliograph.pricing.difference import Difference, RateChange, weighed_after
from heliograph.pricing.market import Weighed, load_market

LOSSES_NAMED_MAX: Final = 3  # in a sentence; pages show them in a table


def change_rate(tx: Connection, rate: Rate, *, is_removed: bool, allows_loss: bool) -> RateChange:
    """Sets a rate, or removes that of its account and destination. Raises NotFound if there is none
    to remove, and InvalidRequest.
    """
    checked = carriers.checked_rate(rate)
    config.bump(tx)  # first: nobody changes a rate between what is read and what is written
    today = carriers.load_rates(tx)
    place = (checked.account_id, checked.destination)
    before = next((each for each in today if (each.account_id, each.destination) == place), None)
    if is_removed and before is None:
        raise NotFound(f"There is no such rate for {shown(rate.destination)}.")
    change = RateChange(before, None if is_removed else checked)
    require_no_loss(tx, today, Difference([change]), allows_loss=allows_loss)
    store_changes(tx, Difference([change]))
    return change


def require_no_loss(
    tx: Connection, today: Sequence[Rate], planned: Difference, *, allows_loss: bool
) -> None:
    """Raises InvalidRequest if these changes make somebody pay less for a segment than it costs,
    unless that is allowed.
    """
    if allows_loss:
        return
    losses = [each for each in weighed_after(load_market(tx), today, planned) if each.is_loss]
    if losses:
        names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
        said = "; ".join(loss_words(each, names) for each in losses[:LOSSES_NAMED_MAX])
        more = len(losses) - LOSSES_NAMED_MAX
        raise refused(
            "allow_loss",
            f"is needed, because this sells below cost: {said}"
            + (f"; and {more} more" if more > 0 else ""),
        )


def loss_words(weighed: Weighed, carrier_names: Mapping[int, str]) -> str:
    """Returns what a segment brings and costs, in words."""
    cost = weighed.cost
    sold = micro_text(int(weighed.sold_micro or 0))
    return (
        f"{weighed.rate.destination} brings {sold} {cost.currency} a segment, and"
        f" {carrier_names[cost.carrier_id]} charges {cost.amount} {cost.currency} for"
        f" {weighed.beginning.words}"
    )


def store_changes(tx: Connection, planned: Difference) -> None:
    """Makes the rates as they are planned."""
    effective = planned.effective
    carriers.change_rates(
        tx,
        [change.today for change in effective if change.today is not None],
        [change.then for change in effective if change.then is not None],
    )
