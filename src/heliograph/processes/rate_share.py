"""The processes that serve one carrier share its agreed TPS, as they come and go. In no second do
they submit more than it, all together.

Each takes its part of the whole by its place among them. A part that becomes smaller counts at
once. A larger one counts only when all others must have heard of it, and what they sent before is a
second old: so the least part of the last seconds counts. A process that has not seen the others for
a while submits nothing.
"""

from collections import deque
from collections.abc import Sequence
from math import floor
from typing import Final, NamedTuple

from heliograph.database.leases import LOOK_S

# longer than this since the last look, which a busy database may hold up: another may have come
BLIND_S: Final = 5 * LOOK_S
LEFT_S: Final = 1.0  # until what others sent in their last moment is a second old
# until all others have seen a newcomer, and what they sent before that is a second old
JOINED_S: Final = BLIND_S + LEFT_S + 0.5


def part_of(tps: float, place: int, count: int) -> float:
    """Returns the TPS of one process among `count`, counted from 0. They are whole numbers,
    since carriers count by the second; a fraction is the first one's.
    """
    whole = floor(tps)
    each, over = divmod(whole, count)
    return each + (place < over) + (tps - whole if place == 0 else 0.0)


class DuePart(NamedTuple):
    """Holds the part of the TPS that one process may use, and since when."""

    since_s: float
    part: float


class Share:
    """Computes one process's part of one carrier's TPS."""

    def __init__(self, tps: float, *, alone: bool) -> None:
        self._tps = tps
        # as they followed one another
        self._dues = deque([DuePart(float("-inf"), tps if alone else 0.0)])

    def current_rate(
        self, senders: Sequence[int], me: int, *, others: bool, looked_s: float, now_s: float
    ) -> float:
        """Returns how many submit_sm a second this process may send now. `senders` share the
        carrier, and `others` says whether anybody else may send to it; both as of `looked_s`. All
        times are of one monotonic clock.
        """
        sees = now_s - looked_s <= BLIND_S
        due = part_of(self._tps, senders.index(me), len(senders)) if sees and me in senders else 0.0
        if due != self._dues[-1].part:
            self._dues.append(DuePart(now_s, due))
        since_s = now_s - (JOINED_S if others else LEFT_S)
        while len(self._dues) > 1 and self._dues[1].since_s <= since_s:
            self._dues.popleft()
        return min(each.part for each in self._dues)
