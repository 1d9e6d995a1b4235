"""A low-balance alarm fires once for each time that debits bring the figure below its threshold."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.wallet import Figures, Thresholds
from heliograph.wallet.wallet import Armed, alarms

STEPS = st.lists(st.integers(-60, 60), max_size=30)


@given(STEPS, st.none() | st.integers(0, 100))
def test_an_alarm_fires_once_for_each_time_that_debits_bring_the_figure_below(
    steps: list[int], threshold: int | None
) -> None:
    armed, figure, fired_below = Armed(True, True), 0, False
    for step in steps:
        before, figure = figure, max(0, figure + step)
        fired, armed = alarms(
            armed, Figures(7, before), Figures(7, figure), Thresholds(threshold, None)
        )
        low = threshold is not None and figure < threshold
        assert fired == (("credits",) if low and figure < before and not fired_below else ())
        fired_below = low and (fired_below or bool(fired))
        assert armed == Armed(credits=not fired_below, balance=True)


def test_credits_and_money_have_an_alarm_each() -> None:
    fired, armed = alarms(
        Armed(True, True),
        Figures(500, 200),
        Figures(400, 99),
        Thresholds(credits=100, amount_minor=450),
    )
    assert (fired, armed) == (("credits", "balance"), Armed(False, False))
    fired, armed = alarms(
        armed, Figures(400, 99), Figures(450, 98), Thresholds(credits=100, amount_minor=450)
    )
    assert (fired, armed) == ((), Armed(credits=False, balance=True))
