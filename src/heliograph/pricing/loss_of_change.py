"""Finds what a change of a cost, a price, a route or a rate makes sell below cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from heliograph import carriers
from heliograph.carriers import GENERAL, Rate, Rates
from heliograph.database import config
from heliograph.pricing.costs import CarrierCost
from heliograph.pricing.market import DEFAULT, Market, Weighed, load_market
from heliograph.pricing.rate_change import losses_in_words, refuse_losses

T = TypeVar("T")


class _NumbersOfAccount(NamedTuple):
    """Names what an account, or GENERAL, pays for numbers with these first digits."""

    account_id: str
    digits: str


def changed_without_loss(tx: Connection, change: Callable[[], T], *, allows_loss: bool) -> T:
    """Makes a change of a cost, a price or a route, and returns what `change` returns. Raises
    InvalidRequest if it makes somebody pay less for a segment than it costs, or still less, unless
    that is allowed. Two changes wait for each other, so that each sees what the other one has made.
    """
    config.bump(tx)  # its row's lock
    if allows_loss:
        return change()
    made, losses = _changed(tx, change)
    refuse_losses(tx, losses)
    return made


def changed_with_warning(
    tx: Connection, change: Callable[[], T], warn: Callable[[str], object]
) -> T:
    """Makes a change of one of them or of a rate, and returns what `change` returns. It tells
    `warn` what sells below cost then, if that is more than before.
    """
    config.bump(tx)  # first, as above
    made, losses = _changed(tx, change)
    if losses:
        warn(losses_in_words(tx, losses))
    return made


def _changed(tx: Connection, change: Callable[[], T]) -> tuple[T, list[Weighed]]:
    """Returns what `change` returns, and what sells below cost now and did not, or did less, the
    worst first.
    """
    before, rates_before = load_market(tx), carriers.load_rates(tx)
    made = change()
    after, rates = load_market(tx), carriers.load_rates(tx)
    prefixes = before.prefixes | after.prefixes
    about = _destinations([*rates_before, *rates])
    was = {place: each.cost_share for place, each in _placed(before, rates_before, about, prefixes)}
    # one cost and one rate are told once, whatever numbers they are for
    worse: dict[tuple[Rate, CarrierCost], Weighed] = {}
    for place, each in _placed(after, rates, about, prefixes):
        if each.is_loss and each.cost_share > was.get(place, 0.0):
            worse.setdefault((each.rate, each.cost), each)
    return made, sorted(worse.values(), key=lambda each: -each.cost_share)


def _destinations(rates: Sequence[Rate]) -> dict[str, list[Rate]]:
    """Returns the rates of each account, and of all what holds where nothing is set."""
    of_accounts: dict[str, list[Rate]] = {GENERAL: [Rate(GENERAL, DEFAULT, None)]}
    for rate in rates:
        of_accounts.setdefault(rate.account_id, []).append(rate)
    return of_accounts


def _placed(
    market: Market,
    rates: Sequence[Rate],
    about: Mapping[str, Sequence[Rate]],
    prefixes: frozenset[str],
) -> Iterator[tuple[_NumbersOfAccount, Weighed]]:
    every = Rates(rates)
    for account_id, of_one in about.items():
        for each in market.weighed(every, account_id, of_one, also=prefixes):
            yield _NumbersOfAccount(account_id, each.beginning.digits), each
