"""Makes tables and plots of the ledger's sums by day."""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.clock import DAY_MS, date_in_utc, rfc3339
from heliograph.portal.plots import BAR, HEIGHT, AxisLabels, axis_of, top_of, width_of
from heliograph.wallet import ledger_hours
from heliograph.wallet.ledger_hours import DAYS_SHOWN, DaySums


class CreditsOfDay(NamedTuple):
    """Holds what became of SMS credits on a day. `spent` is what messages cost, above zero, and
    `moved` what other accounts gave, less what they were given: of all accounts, 0.
    """

    day: str
    bought: int = 0
    granted: int = 0
    adjusted: int = 0
    spent: int = 0
    refunded: int = 0
    moved: int = 0

    @property
    def has_any(self) -> bool:
        return any(
            (self.bought, self.granted, self.adjusted, self.spent, self.refunded, self.moved)
        )

    def with_more(self, more: "CreditsOfDay") -> "CreditsOfDay":
        """Returns the sums of both, of the day of this one."""
        return self._replace(
            bought=self.bought + more.bought,
            granted=self.granted + more.granted,
            adjusted=self.adjusted + more.adjusted,
            spent=self.spent + more.spent,
            refunded=self.refunded + more.refunded,
            moved=self.moved + more.moved,
        )


class MoneyOfDay(NamedTuple):
    """Holds how wallets' money moved on a day, in the smallest unit of a currency. `paid` is what
    credits cost, above zero.
    """

    day: str
    currency: str
    added: int = 0
    adjusted: int = 0
    paid: int = 0
    moved: int = 0

    @property
    def has_any(self) -> bool:
        return any((self.added, self.adjusted, self.paid, self.moved))


class DayBar(NamedTuple):
    """Describes a day's bar: its figure, and how it is drawn."""

    label: str
    figure: int
    x: int
    y: float
    height: float


class DayPlot(NamedTuple):
    """Holds a plot of one figure. `color` is a class of `portal.css`."""

    name: str
    title: str
    color: str
    bars: tuple[DayBar, ...]
    top: int
    total: int

    @property
    def width(self) -> int:
        return width_of(self.bars)

    @property
    def axis(self) -> AxisLabels:
        return axis_of(self.bars)


class FiguresByDay(NamedTuple):
    """Holds what a page shows of the last days. Tables are newest first, and only days on which
    something moved are in them. `missing_from` is empty if they hold all entries.
    """

    total: CreditsOfDay
    credits: list[CreditsOfDay]
    money: list[MoneyOfDay]
    plots: list[DayPlot]
    missing_from: str


_CREDITS: Final = {
    "credit_purchase": "bought",
    "credit_grant": "granted",
    "adjustment": "adjusted",
    "sms_charge": "spent",
    "sms_refund": "refunded",
    "transfer_in": "moved",
    "transfer_out": "moved",
}
_MONEY: Final = {
    "topup": "added",
    "adjustment": "adjusted",
    "credit_purchase": "paid",
    "transfer_in": "moved",
    "transfer_out": "moved",
}
# below zero in the ledger
_TURNED: Final = ("spent", "paid")
_PLOTTED: Final = (
    ("bought", "SMS credits bought", "level"),
    ("granted", "SMS credits granted", "level"),
    ("spent", "SMS credits spent", "level"),
    ("refunded", "SMS credits refunded", "level"),
)


def minute_in_utc(at_ms: int) -> str:
    """Returns the time to the minute, in UTC, such as `2026-11-26 09:30`."""
    return rfc3339(at_ms)[: len("2026-11-26T09:30")].replace("T", " ")


def figures_by_day(tx: Connection, account_id: str | None, now_ms: int) -> FiguresByDay:
    """Returns the figures of the last days of an account (raw id), or of all."""
    summed = ledger_hours.summed_days(tx, account_id, now_ms)
    missing_ms = summed.missing_from_ms
    credits = _by_day(summed.days)
    today_ms = now_ms - now_ms % DAY_MS
    days = [date_in_utc(today_ms - ago * DAY_MS) for ago in range(DAYS_SHOWN - 1, -1, -1)]
    in_order = [credits.get(day, CreditsOfDay(day)) for day in days]
    total = CreditsOfDay("")
    for each in in_order:
        total = total.with_more(each)
    return FiguresByDay(
        total,
        [each for each in reversed(in_order) if each.has_any],
        _money_by_day(summed.days),
        [_plot(*plotted, in_order) for plotted in _PLOTTED] if total.has_any else [],
        "" if missing_ms is None else minute_in_utc(missing_ms),
    )


def _by_day(sums: list[DaySums]) -> dict[str, CreditsOfDay]:
    found: dict[str, CreditsOfDay] = {}
    for each in sums:
        name = _CREDITS.get(each.type)
        if name is None or not each.credits:
            continue
        day = date_in_utc(each.day_ms)
        known = found.get(day, CreditsOfDay(day))
        more = -each.credits if name in _TURNED else each.credits
        found[day] = known._replace(**{name: getattr(known, name) + more})
    return found


def _money_by_day(sums: list[DaySums]) -> list[MoneyOfDay]:
    found: dict[tuple[str, str], MoneyOfDay] = {}
    for each in sums:
        name = _MONEY.get(each.type)
        if name is None or not each.amount_minor:
            continue
        day = date_in_utc(each.day_ms)
        key = (day, each.currency)
        known = found.get(key, MoneyOfDay(day, each.currency))
        more = -each.amount_minor if name in _TURNED else each.amount_minor
        found[key] = known._replace(**{name: getattr(known, name) + more})
    return [found[key] for key in sorted(found, reverse=True) if found[key].has_any]


def _plot(name: str, title: str, color: str, days: list[CreditsOfDay]) -> DayPlot:
    figures = [int(getattr(day, name)) for day in days]
    top = top_of(max(0, *figures))
    bars = []
    for place, (day, figure) in enumerate(zip(days, figures, strict=True)):
        height = round(HEIGHT * max(0, figure) / top, 2)
        y = round(HEIGHT - height, 2)
        bars.append(DayBar(day.day[len("2026-") :], figure, place * BAR, y, height))
    return DayPlot(name, title, color, tuple(bars), top, sum(bar.figure for bar in bars))
