"""Says what a rate sheet would change. It is pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from heliograph.carriers import current_rates
from heliograph.pricing.market import Market, SegmentMargin


class ChangeKind(StrEnum):
    """Names what becomes of a rate."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


class RateChange(NamedTuple):
    """Holds a rate as it is today, and as the sheet has it. One of them may not be there."""

    today: current_rates.Rate | None
    then: current_rates.Rate | None

    @property
    def rate(self) -> current_rates.Rate:
        """Returns whichever of the two there is; both have one account and one destination."""
        found = self.then or self.today
        assert found is not None
        return found

    @property
    def kind(self) -> ChangeKind:
        if self.today is None:
            return ChangeKind.NEW
        if self.then is None:
            return ChangeKind.REMOVED
        return ChangeKind.CHANGED if self.is_effective else ChangeKind.UNCHANGED

    @property
    def is_effective(self) -> bool:
        return self.today != self.then


class Difference(NamedTuple):
    """Holds every change of a sheet, those that do something first."""

    changes: Sequence[RateChange]

    @property
    def counts(self) -> dict[str, int]:
        """Returns how many rates become what, by kind."""
        found = Counter(change.kind for change in self.changes)
        return {str(kind): found[kind] for kind in ChangeKind}

    @property
    def effective(self) -> list[RateChange]:
        """Returns the changes that do something."""
        return [change for change in self.changes if change.is_effective]

    @property
    def words(self) -> str:
        """Returns how many rates become what, in words."""
        return ", ".join(f"{count} {kind}" for kind, count in self.counts.items())


def difference(
    today: Iterable[current_rates.Rate], sheet: Iterable[current_rates.Rate], *, is_whole: bool
) -> Difference:
    """Returns what a sheet changes. With `is_whole`, the rates that it does not have are removed
    for each account that it has rates of (the general ones count as an account).
    """
    before = {(rate.account_id, rate.destination): rate for rate in today}
    after = {(rate.account_id, rate.destination): rate for rate in sheet}
    places = set(after)
    if is_whole:
        named = {rate.account_id for rate in after.values()}
        places |= {place for place, rate in before.items() if rate.account_id in named}
    changes = [RateChange(before.get(place), after.get(place)) for place in sorted(places)]
    changes.sort(key=lambda change: not change.is_effective)
    return Difference(changes)


def _decides(
    rates: current_rates.Rates, account_id: str, weighed: SegmentMargin
) -> current_rates.Rate | None:
    beginning = weighed.beginning
    return rates.rate_of(account_id, beginning.digits, beginning.country_code)


def margins_after(
    market: Market, today: Sequence[current_rates.Rate], planned: Difference
) -> list[SegmentMargin]:
    """Returns what segments would bring and cost wherever the sheet has a rate or takes one away.
    Where another rate decides, and did before, the sheet has nothing to do with it.
    """
    rates = {(rate.account_id, rate.destination): rate for rate in today}
    changed_rates: dict[str, list[current_rates.Rate]] = {}
    for change in planned.changes:
        rate = change.rate
        place = (rate.account_id, rate.destination)
        changed_rates.setdefault(rate.account_id, []).append(rate)
        if change.then is None:
            rates.pop(place, None)
        else:
            rates[place] = change.then
    before, after = current_rates.Rates(today), current_rates.Rates(rates.values())
    of_sheet = {change.then for change in planned.changes}
    return [
        weighed
        for account_id, about in changed_rates.items()
        for weighed in market.margins(after, account_id, about)
        if weighed.rate in of_sheet or weighed.rate != _decides(before, account_id, weighed)
    ]
