"""An account's messages stand in the queues in this order: start-time fair queueing, by account and
carrier.

A row's rank is virtual time. A send begins where its carrier is serving now, or where the account's
last one to that carrier ends, whichever is later, and each of its segments takes up 1 ms. So
accounts that wait for one carrier take turns, however fast or slow it is and however much each has
queued. An account that has nothing waiting is next, and newcomers stand in the order in which they
came. Virtual time is a carrier's own: it runs as fast as the carrier serves.

It is kept in the memory of the accepting process, and read from the queue when that starts.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from heliograph.base import clock

# virtual time that a segment takes up: what a carrier's rate counts is segments
FAIR_SPACING_US: Final = 1_000
# ranks below are ahead of all bulk: OTPs, and what comes back to the queue, by the millisecond they
# were made in
BULK_FROM_US: Final = 10**14
# this and above: kept from every carrier, by a rank of its own and so much more
HELD_FROM_US: Final = 10**17
# this and above: held in a restored copy, until an operator decides
RESTORED_FROM_US: Final = 10 * HELD_FROM_US
# who comes next is read this often; meanwhile a newcomer is placed a little too well, never too
# badly
HEADS_KEPT_S: Final = 0.1


class AccountEnd(NamedTuple):
    """Says at which rank an account's last run to a carrier ends."""

    account_id: str  # raw id
    carrier_id: int
    end_us: int


class FairQueue:
    """Gives each run of messages its rank."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}  # of each carrier that has a queue: where a newcomer begins
        self._ends: dict[tuple[str, int], int] = {}  # where an account's last run to a carrier ends
        self._unseen: list[Ranks] = []  # of transactions that the heads were not read behind
        self._moment = 0  # counts the transactions that have begun and ended
        self._read_s = float("-inf")

    def resume(self, ends: Iterable[AccountEnd]) -> None:
        """Resumes when a process starts, from where the accounts' last runs end of all that
        waits.
        """
        self._ends.update(((end.account_id, end.carrier_id), end.end_us) for end in ends)

    @contextmanager
    def give_ranks(self) -> Iterator["Ranks"]:
        """Gives the ranks of one transaction. If that is rolled back, they count as never given."""
        self._moment += 1
        ranks = Ranks(self._next, self._ends, self._moment)
        self._unseen.append(ranks)
        try:
            yield ranks
        except BaseException:
            ranks.give_back()
            raise
        finally:
            self._moment += 1
            ranks.ended = self._moment

    def is_old(self) -> bool:
        """Returns whether the heads must be read again."""
        return clock.monotonic_s() - self._read_s > HEADS_KEPT_S

    def read(self, heads: Iterable[tuple[int, int | None]], reader: "Ranks") -> None:
        """Takes over (carrier id, lowest rank of bulk in its queue or None) of each carrier, as the
        transaction of `reader` sees them. What others are storing meanwhile counts as waiting. An
        account that has nothing waiting owes nothing.
        """
        self._read_s = clock.monotonic_s()
        self._unseen = [
            ranks for ranks in self._unseen if ranks.ended is None or ranks.ended > reader.began
        ]
        lowest = {carrier_id: rank_us for carrier_id, rank_us in heads if rank_us is not None}
        for ranks in self._unseen:
            for (_, carrier_id), (begin_us, _) in ranks.given.items():
                lowest[carrier_id] = min(begin_us, lowest.get(carrier_id, begin_us))
        following = {
            carrier_id: self._before(carrier_id, head_us) for carrier_id, head_us in lowest.items()
        }
        self._next.clear()  # in place: the transactions under way hold both
        self._next.update(following)
        self._forget_passed_ends(lowest)

    def _forget_passed_ends(self, lowest: Mapping[int, int]) -> None:
        """Forgets the ends that the queues have passed. It is hot: most accounts stay, and nothing
        is made for them.
        """
        passed = []
        for place, end_us in self._ends.items():
            _, carrier_id = place
            if end_us <= lowest.get(carrier_id, end_us):
                passed.append(place)
        for place in passed:
            del self._ends[place]

    def _before(self, carrier_id: int, head_us: int) -> int:
        """Returns the rank just before the head, but not before a newcomer who stands there
        already, or the last to come would be the first to go.
        """
        known_us = self._next.get(carrier_id)
        return known_us if known_us in (head_us - 1, head_us) else head_us - 1


class Ranks:
    """Holds the ranks that one transaction was given. `began` and `ended` are moments of the
    FairQueue.
    """

    def __init__(
        self, following: dict[int, int], ends: dict[tuple[str, int], int], began: int
    ) -> None:
        self._next = following
        self._ends = ends
        self.began = began
        self.ended: int | None = None
        # of an account and carrier: where its runs begin and end
        self.given: dict[tuple[str, int], tuple[int, int]] = {}

    def rank_us(self, account_id: str, carrier_id: int, segments: int, now_ms: int) -> int:
        """Returns the rank of the first of a run of bulk messages with so many segments in all.
        The others follow by FAIR_SPACING_US a segment.
        """
        key = (account_id, carrier_id)
        next_us = self._next.setdefault(carrier_id, now_ms * 1_000)
        begin_us = max(next_us, self._ends.get(key, 0))
        end_us = self._ends[key] = begin_us + segments * FAIR_SPACING_US
        first_us, _ = self.given.get(key, (begin_us, end_us))
        self.given[key] = (first_us, end_us)
        return begin_us

    def give_back(self) -> None:
        """Gives back the ranks of an account that could not be stored: it owes no more than
        before.
        """
        for key, (begin_us, end_us) in self.given.items():
            if self._ends.get(key) == end_us:
                self._ends[key] = begin_us
        self.given = {}


def rank_ahead(at_ms: int) -> int:
    """Returns the rank of what goes before all bulk."""
    return at_ms
