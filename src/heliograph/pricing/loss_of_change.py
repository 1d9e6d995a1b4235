"""Finds what a change of a cost, a price, a route or a rate makes sell below cost."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from heliograph.base.clock import rfc3339
from heliograph.carriers import GENERAL, current_rates
from heliograph.database import config
from heliograph.pricing.costs import CarrierCost
from heliograph.pricing.difference import difference, margins_after
from heliograph.pricing.market import DEFAULT, Market, SegmentMargin, load_market
from heliograph.pricing.rate_change import losses_in_words, refuse_losses
from heliograph.pricing.sheets import RateSheet, rates_of, sheets_that_may_not_lose

T = TypeVar("T")


class _NumbersOfAccount(NamedTuple):
    """Names what an account, or GENERAL, pays for numbers with these first digits."""

    account_id: str
    digits: str


class _AccountMargin(NamedTuple):
    """Holds what segments to some numbers of an account bring and cost."""

    place: _NumbersOfAccount
    weighed: SegmentMargin


class _Losses(NamedTuple):
    """Holds what sells below cost now and did not, or did less, the worst first: at the rates that
    hold, and at those of each sheet that is planned.
    """

    of_today: list[SegmentMargin]
    of_sheets: dict[RateSheet, list[SegmentMargin]]

    def in_words(self, tx: Connection) -> str:
        """Returns what sells below cost, as a part of a sentence; it is empty if nothing does."""
        parts = [losses_in_words(tx, self.of_today)] if self.of_today else []
        for sheet, losses in self.of_sheets.items():
            at = rfc3339(sheet.effective_at_ms or 0)
            words = losses_in_words(tx, losses)
            parts.append(f"when the rate sheet {sheet.text_id} is applied at {at}, {words}")
        return "; ".join(parts)


def change_without_loss(tx: Connection, change: Callable[[], T], *, allows_loss: bool) -> T:
    """Makes a change of a cost, a price or a route, and returns what `change` returns. Raises
    InvalidRequest if it makes somebody pay less for a segment than it costs, or still less, unless
    that is allowed: at once, or when a sheet is applied that is planned and may not lose. Two
    changes wait for each other, so that each sees what the other one has made.
    """
    config.bump(tx)  # its row's lock
    if allows_loss:
        return change()
    made, losses = _change_and_losses(tx, change)
    refuse_losses(losses.in_words(tx))
    return made


def change_with_warning(
    tx: Connection, change: Callable[[], T], warn: Callable[[str], object]
) -> T:
    """Makes a change of one of them or of a rate, and returns what `change` returns. It tells
    `warn` what sells below cost then, at once or by a planned sheet, if that is more than before.
    """
    config.bump(tx)  # first, as above
    made, losses = _change_and_losses(tx, change)
    if words := losses.in_words(tx):
        warn(words)
    return made


def _change_and_losses(tx: Connection, change: Callable[[], T]) -> tuple[T, _Losses]:
    """Returns what `change` returns, and what sells below cost by it."""
    before, rates_before = load_market(tx), current_rates.load(tx)
    made = change()
    after, rates = load_market(tx), current_rates.load(tx)
    prefixes = before.prefixes | after.prefixes
    about = _destinations([*rates_before, *rates])
    of_today = _worse(
        _account_margins(before, rates_before, about, prefixes),
        _account_margins(after, rates, about, prefixes),
    )
    of_sheets = {}
    for sheet in sheets_that_may_not_lose(tx):
        then = difference(rates, rates_of(tx, sheet), is_whole=sheet.is_whole)
        losses = _worse(
            _by_place(margins_after(before, rates, then)),
            _by_place(margins_after(after, rates, then)),
        )
        if losses:
            of_sheets[sheet] = losses
    return made, _Losses(of_today, of_sheets)


def _worse(
    before: Iterable[_AccountMargin], after: Iterable[_AccountMargin]
) -> list[SegmentMargin]:
    """Returns what sells below cost now and did not, or did less, the worst first."""
    was = {of_one.place: of_one.weighed.cost_share for of_one in before}
    # one cost and one rate are told once, whatever numbers they are for
    worse: dict[tuple[current_rates.Rate, CarrierCost], SegmentMargin] = {}
    for place, each in after:
        if each.is_loss and each.cost_share > was.get(place, 0.0):
            worse.setdefault((each.rate, each.cost), each)
    return sorted(worse.values(), key=lambda each: -each.cost_share)


def _by_place(weighed: Iterable[SegmentMargin]) -> Iterator[_AccountMargin]:
    for each in weighed:
        yield _AccountMargin(_NumbersOfAccount(each.rate.account_id, each.beginning.digits), each)


def _destinations(rates: Sequence[current_rates.Rate]) -> dict[str, list[current_rates.Rate]]:
    """Returns the rates of each account, and of all what holds where nothing is set."""
    of_accounts: dict[str, list[current_rates.Rate]] = {
        GENERAL: [current_rates.Rate(GENERAL, DEFAULT, None)]
    }
    for rate in rates:
        of_accounts.setdefault(rate.account_id, []).append(rate)
    return of_accounts


def _account_margins(
    market: Market,
    rates: Sequence[current_rates.Rate],
    about: Mapping[str, Sequence[current_rates.Rate]],
    prefixes: frozenset[str],
) -> Iterator[_AccountMargin]:
    every = current_rates.Rates(rates)
    for account_id, of_one in about.items():
        for each in market.margins(every, account_id, of_one, also=prefixes):
            yield _AccountMargin(_NumbersOfAccount(account_id, each.beginning.digits), each)
