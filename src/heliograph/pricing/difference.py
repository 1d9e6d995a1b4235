"""Says what a rate sheet would change. It is pure."""

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
        return ChangeKind.UNCHANGED if self.today == self.then else ChangeKind.CHANGED


class Difference(NamedTuple):
    """Holds every change of a sheet, those that do something first."""

    changes: Sequence[RateChange]

    def count(self, kind: str) -> int:
        return sum(1 for change in self.changes if change.kind == kind)

    @property
    def effective(self) -> list[RateChange]:
        """Returns the changes that do something."""
        return [change for change in self.changes if change.kind != ChangeKind.UNCHANGED]

    @property
    def words(self) -> str:
        """Returns how many rates become what, in words."""
        return ", ".join(f"{self.count(kind)} {kind}" for kind in ChangeKind)


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
    changes.sort(key=lambda change: change.kind == ChangeKind.UNCHANGED)
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
        place = (change.rate.account_id, change.rate.destination)
        changed_rates.setdefault(change.rate.account_id, []).append(change.rate)
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
