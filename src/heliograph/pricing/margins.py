"""Lists what segments bring and cost now, the worst margins first, for the console and for a
command.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.carriers import GENERAL, all_carriers, current_rates
from heliograph.pricing.market import Market, SegmentMargin, load_market
from heliograph.pricing.weighed_rows import WeighedRow, weighed_file, weighed_rows

MARGINS_SHOWN_MAX: Final = 200  # of one page, or of one list that a command prints


class Margins(NamedTuple):
    """Holds what segments bring and cost at one moment, the worst margin first. What cannot be
    compared comes last. `names` are the carriers' names by their ids. `owners` has the text id of
    the account whose rates these are, by its raw id; it is empty for the general rates.
    """

    weighed: Sequence[SegmentMargin]
    has_costs: bool
    names: Mapping[int, str]
    owners: Mapping[str, str]

    @property
    def losses(self) -> int:
        """Returns how many of them sell below cost."""
        return sum(1 for each in self.weighed if each.is_loss)

    def rows(self, most: int) -> list[WeighedRow]:
        """Returns the first of them as rows of a table."""
        return weighed_rows(self.weighed[:most], self.names)

    def left(self, most: int) -> int:
        """Returns how many `rows` leaves out."""
        return max(0, len(self.weighed) - most)

    def csv(self) -> str:
        """Returns all of them as a file."""
        return weighed_file(self.weighed, self.names, self.owners)


def load_margins(tx: Connection, account_id: str) -> Margins:
    """Returns the margins of the general rates, or of those that hold for an account (raw id, or
    GENERAL).
    """
    market = load_market(tx)
    owners = (
        {}
        if account_id == GENERAL
        else {account_id: accounts.text_id(accounts.by_id(tx, account_id))}
    )
    return Margins(
        _worst_first(tx, market, account_id),
        market.has_costs,
        {carrier.id: carrier.name for carrier in all_carriers(tx)},
        owners,
    )


def _worst_first(tx: Connection, market: Market, account_id: str) -> list[SegmentMargin]:
    rates = current_rates.load(tx, GENERAL)
    if account_id != GENERAL:
        rates += current_rates.load(tx, account_id)
    # what holds where nothing is set, too
    about = [*rates, current_rates.Rate(GENERAL, "default", None)]
    return sorted(
        market.margins(current_rates.Rates(rates), account_id, about),
        key=lambda each: (each.price is None, -each.cost_share, each.beginning.digits),
    )
