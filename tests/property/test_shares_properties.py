"""Processes share a carrier's rate: together they never exceed it, whoever comes and goes, and they
use it up when nobody does.
"""

from collections import deque
from math import ceil

from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.carriers.smpp.send_rate import Pace
from heliograph.database.leases import LOOK_S, WORKER, PeerProcess
from heliograph.processes.rate_share import BLIND_S, JOINED_S, LEFT_S, Share, part_of
from heliograph.processes.roles import senders

TICK_S = 0.05
CARRIER_ID = 7
RATES = st.one_of(
    st.integers(1, 60).map(float), st.floats(0.5, 20).map(lambda rate: round(rate, 1))
)


def peer(*, waives: bool) -> PeerProcess:
    return PeerProcess(WORKER, None, 0, 0.0, frozenset({CARRIER_ID} if waives else ()))


class Process:
    """Sends as fast as it may. It knows who is there from its last look."""

    def __init__(
        self,
        epoch: int,
        registered: dict[int, PeerProcess],
        tps: float,
        now_s: float,
        phase_s: float,
    ) -> None:
        self.epoch = epoch
        registered[epoch] = peer(waives=False)
        self.known, self.looked_s, self.next_look_s = dict(registered), now_s, now_s + phase_s
        self.share = Share(tps, alone=len(self.known) == 1)
        self.pace = Pace(0.0, now_s)
        self.waives = False

    def now(self, now_s: float) -> float:
        return self.share.current_rate(
            senders(self.known, CARRIER_ID),
            self.epoch,
            others=len(self.known) > 1,
            looked_s=self.looked_s,
            now_s=now_s,
        )

    def send(self, registered: dict[int, PeerProcess], now_s: float) -> int:
        """Sends what is allowed, even while it waives its part: what it has not seen in the table
        does not hold for it yet.
        """
        if now_s >= self.next_look_s:
            registered[self.epoch] = peer(waives=self.waives)
            self.known, self.looked_s, self.next_look_s = dict(registered), now_s, now_s + LOOK_S
        self.pace.agree(self.now(now_s))
        count = self.pace.allowance(now_s)
        self.pace.note_sent(count, now_s)
        return count


@given(
    tps=RATES,
    moves=st.lists(
        st.tuples(st.floats(0.1, 6), st.sampled_from(["join", "leave", "waive"]), st.floats(0, 1)),
        min_size=1,
        max_size=8,
    ),
)
@example(
    tps=10.0,
    moves=[(3.0, "join", 0.99), (6.0, "waive", 0.1), (6.0, "waive", 0.0), (2.0, "waive", 0.1)],
)
@example(tps=10.0, moves=[(3.0, "join", 0.99), (0.1, "leave", 0.0), (0.1, "join", 0.5)])
def test_in_no_second_all_together_send_more_than_the_rate(
    tps: float, moves: list[tuple[float, str, float]]
) -> None:
    registered: dict[int, PeerProcess] = {}
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
            del registered[gone.epoch]
        elif move == "waive" and processes:
            one = processes[int(phase_s * 10) % len(processes)]
            one.waives = not one.waives
    shares = [process.now(now_s) for process in processes]
    assert not processes or abs(sum(shares) - tps) < 1e-6, (
        "some seconds after the last change the whole rate is used"
    )


@given(tps=RATES, count=st.integers(1, 9))
def test_the_parts_are_the_whole_and_differ_by_one_a_second_at_most(tps: float, count: int) -> None:
    parts = [part_of(tps, place, count) for place in range(count)]
    assert abs(sum(parts) - tps) < 1e-9
    assert sum(ceil(part) for part in parts) == ceil(tps)
    assert max(parts) - min(parts) < 2


def test_who_is_blind_sends_nothing_and_goes_on_when_it_sees_that_it_is_alone() -> None:
    share = Share(10.0, alone=True)
    assert share.current_rate([1], 1, others=False, looked_s=0, now_s=BLIND_S) == 10
    assert share.current_rate([1], 1, others=False, looked_s=0, now_s=BLIND_S + 0.1) == 0
    assert share.current_rate([1], 1, others=False, looked_s=9, now_s=9) == 0
    assert share.current_rate([1], 1, others=False, looked_s=9, now_s=9 + LEFT_S) == 10


def test_a_newcomer_waits_until_the_others_know_of_it() -> None:
    share = Share(11.0, alone=False)
    shares = [
        share.current_rate([1, 2], 2, others=True, looked_s=now_s, now_s=now_s)
        for now_s in (0, JOINED_S - 0.1, JOINED_S)
    ]
    assert shares == [0, 0, 5]


@given(
    tps=st.integers(3, 60).map(float),
    period_s=st.floats(1.5, 12),
    blind_s=st.floats(BLIND_S + 1, 20),
)
def test_one_that_comes_and_goes_leaves_the_others_their_rate(
    tps: float, period_s: float, blind_s: float
) -> None:
    """Two that see nothing for a while go on with what is theirs when they are three,
    though the third never stays.
    """
    shares = {me: Share(tps, alone=True) for me in (1, 2)}
    least = part_of(tps, 1, 3)
    now_s = 0.0
    while now_s < blind_s + JOINED_S + 3 * period_s:
        senders = [1, 2, 3] if now_s % period_s < period_s / 2 else [1, 2]
        looked_s = 0.0 if now_s < blind_s else now_s
        parts = [
            share.current_rate(senders, me, others=True, looked_s=looked_s, now_s=now_s)
            for me, share in shares.items()
        ]
        if now_s > blind_s + JOINED_S + TICK_S:
            assert min(parts) >= least
        now_s += TICK_S
