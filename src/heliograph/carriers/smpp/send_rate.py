"""Decides how fast to send to a carrier: at its agreed rate, and more slowly while it answers that
it is throttling.

A second in which a throttle answer came ends with a slower rate. If the carrier refused most of
that second, the new rate is what it accepted in it. Otherwise it is a fifth less than what was
answered: a full queue at the carrier refuses a share of any rate, and slowing down does not help
then. Each second without a throttle answer makes the rate a quarter faster, until it is back at the
agreed rate or, where none is agreed, at twice what was too much. It is never slower than the floor.
"""

from collections import deque
from math import ceil
from typing import Final

UNLIMITED: Final = 1 << 30
# of the rate may go at once: what a turn claims ahead (docs/architecture.md, "The queue of runs")
BURST_S: Final = 0.25

_STEP_S: Final = 1.0
_MOST_REFUSED_SHARE: Final = 0.4  # less than this share accepted
_CUT: Final = 0.8
_RECOVERY: Final = 1.25
_FLOOR_SHARE: Final = 0.1  # of the agreed rate
_FLOOR_TPS: Final = 20.0  # where no rate is agreed; a carrier that takes less needs its --tps set


class Pace:
    """Counts submissions against the rate. Times are seconds of one monotonic clock, given by the
    caller.
    """

    def __init__(self, tps: float | None, now_s: float) -> None:
        self._agreed = tps
        self._slowed: float | None = None  # the throttled pace, below what is agreed
        self._lifted_at = 0.0
        self._tokens = self._burst(tps) if tps else 0.0
        self._filled_s = now_s
        self._sent: deque[tuple[float, int]] = deque()  # (when, how many) within the last second
        self._sent_sum = 0
        self._step_began_s = now_s
        self._step_accepted = self._step_throttled = 0

    @property
    def tps(self) -> float | None:
        """Returns how many submissions a second are allowed just now, or None if there is no
        limit.
        """
        if self._slowed is None or self._agreed is None:
            return self._agreed if self._slowed is None else self._slowed
        return min(self._slowed, self._agreed)

    @property
    def is_slowed(self) -> bool:
        return self._slowed is not None

    def agree(self, tps: float | None) -> None:
        """Sets another agreed rate from now on: a carrier's processes share its rate as they
        come and go. None is unlimited; with 0, nothing at all is sent.
        """
        self._agreed = tps

    def allowance(self, now_s: float) -> int:
        """Returns how many may be sent now: by a bucket of a quarter second, and in no second
        more than the rate.
        """
        self._step(now_s)
        rate = self.tps
        if rate is None:
            self._filled_s = now_s
            return UNLIMITED
        self._tokens = min(self._burst(rate), self._tokens + (now_s - self._filled_s) * rate)
        self._filled_s = now_s
        allowance = int(self._tokens + 1e-9)
        if self._agreed is not None:
            # the bucket alone would let 1.25 times the rate into one second after a rest, and
            # carriers count by the second
            self._forget(now_s)
            allowance = min(allowance, ceil(self._agreed) - self._sent_sum)
        return max(0, allowance)

    def note_sent(self, count: int, now_s: float) -> None:
        self._step(now_s)
        if self.tps is not None:
            self._tokens -= count
        if self._agreed is not None:
            self._sent.append((now_s, count))
            self._sent_sum += count

    def note_answers(self, accepted: int, throttled: int, now_s: float) -> None:
        self._step(now_s)
        self._step_accepted += accepted
        self._step_throttled += throttled

    def _burst(self, rate: float) -> float:
        return max(1.0, rate * BURST_S)

    def _forget(self, now_s: float) -> None:
        sent = self._sent
        while sent:
            at_s, count = sent[0]
            if now_s - at_s < 1.0:
                break
            sent.popleft()
            self._sent_sum -= count

    def _step(self, now_s: float) -> None:
        """Judges the second that is over. Everything counted belongs to it, for each count
        begins with this.
        """
        passed_s = now_s - self._step_began_s
        if passed_s < _STEP_S:
            return
        if self._step_throttled:
            self._slow_down()
        elif self._slowed is not None:
            # 60 steps are a factor of 650,000
            pace = self._slowed * _RECOVERY ** min(passed_s / _STEP_S, 60)
            self._slowed = (
                None
                if pace >= (self._lifted_at if self._agreed is None else self._agreed)
                else pace
            )
        self._step_began_s = now_s
        self._step_accepted = self._step_throttled = 0

    def _slow_down(self) -> None:
        if self._agreed == 0:
            return
        accepted, answers = self._step_accepted, self._step_accepted + self._step_throttled
        if self._slowed is None:
            self._lifted_at = max(2.0 * answers, 2 * _FLOOR_TPS)
            self._tokens = 0.0
        pace = (
            float(accepted)
            if accepted < _MOST_REFUSED_SHARE * answers
            else max(accepted, _CUT * answers)
        )
        if self._agreed is None:
            self._slowed = max(pace, _FLOOR_TPS)
        else:
            self._slowed = min(max(pace, self._agreed * _FLOOR_SHARE), self._agreed)
