"""Finds out whether the peer of a session is still there. After some silence it is sent an
enquire_link, and without an answer it counts as dead.
"""

from collections.abc import Callable
from enum import Enum


class PeerState(Enum):
    ALIVE = "alive"
    ASK = "ask"  # silent for enquire_link_s: an enquire_link is due
    DEAD = "dead"  # no sign came within enquire_link_timeout_s of an enquire_link


class SilenceWatch:
    """Measures silence in reading time: the loop's time less what passed while we did not
    read, which is nobody's silence but ours.
    """

    def __init__(
        self, loop_time_s: Callable[[], float], ask_after_s: float, dead_after_s: float
    ) -> None:
        self._loop_time_s = loop_time_s
        self._ask_after_s = ask_after_s
        self._dead_after_s = dead_after_s
        self._paused_at_s: float | None = None
        self._unread_s = 0.0  # how long reading was paused in all
        self._heard_s = loop_time_s()
        self._asked_s: float | None = None

    @property
    def is_paused(self) -> bool:
        return self._paused_at_s is not None

    def time_s(self) -> float:
        """Returns the time for which the session has been read. It stands still while reading is
        paused.
        """
        return (
            self._loop_time_s() if self._paused_at_s is None else self._paused_at_s
        ) - self._unread_s

    def note_pdu(self) -> None:
        """Notes that a whole PDU came. Half a PDU is no sign of life."""
        self._heard_s, self._asked_s = self.time_s(), None

    def check(self) -> PeerState:
        """Returns the verdict of this moment. ASK is returned once; the caller then asks."""
        now_s = self.time_s()
        if self._asked_s is not None:
            return (
                PeerState.DEAD if now_s - self._asked_s >= self._dead_after_s else PeerState.ALIVE
            )
        if now_s - self._heard_s < self._ask_after_s:
            return PeerState.ALIVE
        self._asked_s = now_s
        return PeerState.ASK

    def pause(self) -> None:
        if self._paused_at_s is None:
            self._paused_at_s = self._loop_time_s()

    def resume(self) -> None:
        if self._paused_at_s is not None:
            self._unread_s += self._loop_time_s() - self._paused_at_s
            self._paused_at_s = None
