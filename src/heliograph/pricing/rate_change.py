"""Refuses changes of rates that sell below cost, unless that is allowed."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy.engine import Connection

from heliograph import carriers
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import current_rates
from heliograph.pricing.costs import micro_text
from heliograph.pricing.difference import Difference, margins_after
from heliograph.pricing.market import SegmentMargin, load_market

LOSSES_NAMED_MAX: Final = 3  # in a sentence; pages show them in a table


def require_no_loss(
    tx: Connection, today: Sequence[current_rates.Rate], planned: Difference, *, allows_loss: bool
) -> None:
    """Raises InvalidRequest if these changes make somebody pay less for a segment than it costs,
    unless that is allowed.
    """
    if allows_loss:
        return
    weighed = margins_after(load_market(tx), today, planned)
    losses = [each for each in weighed if each.is_loss]
    refuse_losses(losses_in_words(tx, losses) if losses else "")


def refuse_losses(words: str) -> None:
    """Raises InvalidRequest unless `words`, which says what sells below cost, is empty."""
    if words:
        raise invalid_field("allow_loss", f"is needed, because {words}")


def losses_in_words(tx: Connection, losses: Sequence[SegmentMargin]) -> str:
    """Returns what sells below cost, such as `this sells below cost: 233 brings …`."""
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    first_losses = "; ".join(loss_words(each, names) for each in losses[:LOSSES_NAMED_MAX])
    more = len(losses) - LOSSES_NAMED_MAX
    return f"this sells below cost: {first_losses}" + (f"; and {more} more" if more > 0 else "")


def loss_words(weighed: SegmentMargin, carrier_names: Mapping[int, str]) -> str:
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
    current_rates.change(
        tx,
        [change.today for change in effective if change.today is not None],
        [change.then for change in effective if change.then is not None],
    )
