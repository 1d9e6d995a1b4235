"""Decides when the low-balance alarms fire (docs/api.md, Wallet). Every change of a wallet asks
it.
"""

from typing import Final, NamedTuple


class Alarm(NamedTuple):
    """Says what a change of a figure does to the figure's alarm: whether the alarm fires, and
    whether it is armed afterwards. A fired alarm is silent until its figure has been at or above
    the threshold again.
    """

    fires: bool
    is_armed: bool


_NOT_LOW: Final = Alarm(fires=False, is_armed=True)


def judge(*, is_armed: bool, before: int, after: int, threshold: int | None) -> Alarm:
    """Judges a figure that changed from `before` to `after`. A debit that leaves the figure below
    the threshold fires an armed alarm; at or above the threshold the alarm is armed again. Without
    a threshold it never fires.
    """
    if not is_below(after, threshold):
        return _NOT_LOW
    fires = is_armed and after < before
    return Alarm(fires, is_armed and not fires)


def is_below(figure: int, threshold: int | None) -> bool:
    """Returns whether a figure is below its threshold."""
    return threshold is not None and figure < threshold
