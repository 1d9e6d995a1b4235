"""Processes that share a carrier's rate: together they never exceed it, whoever comes and goes, and they use it up when nobody does."""

from collections import deque
from math import ceil

from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.base.leases import LOOK_S
from heliograph.carriers.smpp.pace import Pace
from heliograph.entry.shares import BLIND_S, JOINED_S, LEFT_S, Share, part_of

TICK_S = 0.05
RATES = st.one_of(st.integers(1, 60).map(float), st.floats(0.5, 20).map(lambda rate: round(rate, 1)))


class Process:
    """One that sends as fast as it may. It knows who is there from its last look."""

    def __init__(self, epoch: int, registered: list[int], tps: float, now_s: float, phase_s: float) -> None:
        self.epoch = epoch
        registered.append(epoch)
        self.known, self.looked_s, self.next_look_s = list(registered), now_s, now_s + phase_s
        self.share = Share(tps, alone=self.known == [epoch])
        self.pace = Pace(0.0, now_s)

    def send(self, registered: list[int], now_s: float) -> int:
        if now_s >= self.next_look_s:
            self.known, self.looked_s, self.next_look_s = list(registered), now_s, now_s + LOOK_S
        self.pace.agree(self.share.now(self.known, self.epoch, others=self.known != [self.epoch], looked_s=self.looked_s, now_s=now_s))
        count = self.pace.allowance(now_s)
        self.pace.sent(count, now_s)
        return count


@given(tps=RATES, moves=st.lists(st.tuples(st.floats(0.1, 6), st.sampled_from(["join", "leave"]), st.floats(0, 1)), min_size=1, max_size=8))
@example(tps=10.0, moves=[(3.0, "join", 0.99), (0.1, "leave", 0.0), (0.1, "join", 0.5)])
def test_in_no_second_all_together_send_more_than_the_rate(tps: float, moves: list[tuple[float, str, float]]) -> None:
    registered: list[int] = []
    processes = [Process(1, registered, tps, 0.0, 0.5)]
    sent: deque[tuple[float, int]] = deque()
    now_s, move_s = 0.0, 0.0
    for after_s, move, phase_s in [*moves, (JOINED_S + 2 * LOOK_S, "", 0.0)]:
        move_s += after_s
        while now_s < move_s:
            sent.append((now_s, sum(process.send(registered, now_s) for process in processes)))
            while now_s - sent[0][0] >= 1:
                sent.popleft()
            assert sum(count for _, count in sent) <= ceil(tps)
            now_s = round(now_s + TICK_S, 6)
        if move == "join":
            processes.append(Process(2 + int(now_s * 1_000), registered, tps, now_s, phase_s))
        elif move == "leave" and processes:
            gone = processes.pop(int(phase_s * 10) % len(processes))
            registered.remove(gone.epoch)
    shares = [process.share.now(registered, process.epoch, others=len(registered) > 1, looked_s=now_s, now_s=now_s) for process in processes]
    assert not processes or abs(sum(shares) - tps) < 1e-6, "some seconds after the last change the whole rate is used"


@given(tps=RATES, count=st.integers(1, 9))
def test_the_parts_are_the_whole_and_differ_by_one_a_second_at_most(tps: float, count: int) -> None:
    parts = [part_of(tps, place, count) for place in range(count)]
    assert abs(sum(parts) - tps) < 1e-9
    assert sum(ceil(part) for part in parts) == ceil(tps)
    assert max(parts) - min(parts) < 2


def test_who_is_blind_sends_nothing_and_goes_on_when_it_sees_that_it_is_alone() -> None:
    share = Share(10.0, alone=True)
    assert share.now([1], 1, others=False, looked_s=0, now_s=BLIND_S) == 10
    assert share.now([1], 1, others=False, looked_s=0, now_s=BLIND_S + 0.1) == 0
    assert share.now([1], 1, others=False, looked_s=9, now_s=9) == 0
    assert share.now([1], 1, others=False, looked_s=9, now_s=9 + LEFT_S) == 10


def test_a_newcomer_waits_until_the_others_know_of_it() -> None:
    share = Share(11.0, alone=False)
    shares = [share.now([1, 2], 2, others=True, looked_s=now_s, now_s=now_s) for now_s in (0, JOINED_S - 0.1, JOINED_S)]
    assert shares == [0, 0, 5]
