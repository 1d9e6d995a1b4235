"""The order in which an account's messages stand in the queues: start-time fair queueing, by account and carrier.

A row's rank is virtual time. A send begins where its carrier is serving now, or where the account's last one to that carrier ends, whichever
is later, and each of its messages takes up 1 ms. So accounts that wait for one carrier take turns, however fast or slow it is and however
much each has queued, and who has nothing waiting is next. Virtual time is a carrier's own: it runs as fast as the carrier serves.

Kept in the memory of the accepting process: what is lost with it is an account's debt to the others, never a message.
"""

from collections.abc import Iterable
from typing import Any, Final

from heliograph.base import clock

FAIR_SPACING_US: Final = 1_000  # virtual time that a message takes up
BULK_FROM_US: Final = 10**14  # ranks below are ahead of all bulk: OTPs, and what comes back to the queue, by the millisecond they were made in
HEADS_KEPT_S: Final = 0.1  # who comes next is read this often; meanwhile a newcomer is placed a little too well, never too badly


class FairQueue:
    """Gives each run of messages its rank."""

    def __init__(self) -> None:
        self._heads: dict[int, int] = {}  # of each carrier that has a queue: the rank that is served next
        self._ends: dict[tuple[str, int], int] = {}  # where an account's last run to a carrier ends
        self._read_s = float("-inf")

    def is_old(self) -> bool:
        """Whether the heads must be read again."""
        return clock.monotonic_s() - self._read_s > HEADS_KEPT_S

    def read(self, heads: Iterable[tuple[Any, Any]]) -> None:
        """(carrier id, lowest rank of bulk in its queue or None). An account that has nothing waiting owes nothing."""
        self._read_s = clock.monotonic_s()
        self._heads = {carrier_id: rank_us for carrier_id, rank_us in heads if rank_us is not None}
        self._ends = {key: end_us for key, end_us in self._ends.items() if end_us > self._heads.get(key[1], end_us)}

    def rank_us(self, account_id: str, carrier_id: int, messages: int, now_ms: int) -> int:
        """Of the first of so many bulk messages; the others follow by FAIR_SPACING_US."""
        head_us = self._heads.get(carrier_id)
        next_us = now_ms * 1_000 if head_us is None else head_us - 1
        begin_us = max(next_us, self._ends.get((account_id, carrier_id), 0))
        self._ends[account_id, carrier_id] = begin_us + messages * FAIR_SPACING_US
        return begin_us


def rank_ahead(at_ms: int) -> int:
    """Of what goes before all bulk."""
    return at_ms
