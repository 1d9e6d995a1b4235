"""The fair queue serves newcomers next, in their order, and those who wait alike, whatever was
queued and served before.
"""

from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from heliograph.messages.queue.rank import BULK_FROM_US, FAIR_SPACING_US, FairQueue

NOW_MS = 1_800_000_000_000
CARRIER = 2
ACCOUNTS = ["amina", "bilal", "chidi", "dede"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ACCOUNTS),
        st.integers(1, 20),
        st.integers(1, 4),
        st.integers(0, 30),
        st.integers(0, 10_000),
    ),
    max_size=40,
)


class Waiting(NamedTuple):
    """Describes one message, in the order of the queue."""

    rank_us: int
    number: int  # of its send
    account: str
    segments: int


class Carrier:
    """A carrier takes from a queue that is kept as the database keeps it."""

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.waiting: list[Waiting] = []
        self.now_ms = NOW_MS
        self.sends = 0

    def send(self, account: str, messages: int, segments: int = 1) -> Waiting:
        """Queues a send. Returns its first message."""
        self.sends += 1
        with self.queue.give_ranks() as ranks:
            self.queue.read(
                [(CARRIER, self.waiting[0].rank_us if self.waiting else None), (CARRIER + 1, None)],
                ranks,
            )
            first_us = ranks.rank_us(account, CARRIER, messages * segments, self.now_ms)
        rows = [
            Waiting(first_us + k * segments * FAIR_SPACING_US, self.sends, account, segments)
            for k in range(messages)
        ]
        self.waiting = sorted([*self.waiting, *rows])
        return rows[0]

    def serve(self, messages: int) -> list[Waiting]:
        served, self.waiting = self.waiting[:messages], self.waiting[messages:]
        return served


@given(STEPS)
def test_before_who_has_nothing_waiting_stands_at_most_one_message_of_each_other_account(
    steps: list[tuple[str, int, int, int, int]],
) -> None:
    carrier = Carrier()
    for account, messages, segments, served, pause_ms in steps:
        before = list(carrier.waiting)
        first = carrier.send(account, messages, segments)
        assert first.rank_us >= BULK_FROM_US
        assert all(one < first for one in before if one.account == account), (
            "an account's own come one after the other"
        )
        carrier.serve(served)
        carrier.now_ms += pause_ms
    newcomer = carrier.send("eve", 1)
    assert (
        max(Counter(one.account for one in carrier.waiting if one < newcomer).values(), default=0)
        <= 1
    )


@given(st.integers(1, 50), st.lists(st.integers(0, 2), min_size=1, max_size=60))
def test_newcomers_are_served_in_the_order_in_which_they_came(
    waiting: int, served: list[int]
) -> None:
    carrier = Carrier()
    carrier.send("amina", waiting)
    newcomers, gone = [], []
    for k, count in enumerate(served):
        newcomers.append(carrier.send(f"newcomer {k}", 1).number)
        gone += carrier.serve(count)
    gone += carrier.serve(len(carrier.waiting))
    assert [one.number for one in gone if one.account != "amina"] == newcomers


@given(STEPS, st.integers(1, 50), st.integers(1, 4))
def test_two_accounts_that_wait_all_the_time_are_served_alike_whatever_others_do(
    steps: list[tuple[str, int, int, int, int]], lead: int, segments: int
) -> None:
    carrier = Carrier()
    carrier.send("eve", 3_000)
    carrier.serve(lead)
    carrier.send("faith", 3_000 // segments, segments)
    shares: Counter[str] = Counter()
    for account, messages, of_segments, served, pause_ms in steps:
        carrier.send(account, messages, of_segments)
        for one in carrier.serve(served):
            shares[one.account] += one.segments
        carrier.now_ms += pause_ms
        assert abs(shares["eve"] - shares["faith"]) <= 2 * segments + 2


@given(STEPS)
def test_what_was_rolled_back_is_owed_by_nobody(
    steps: list[tuple[str, int, int, int, int]],
) -> None:
    carrier, other = Carrier(), Carrier()
    for account, messages, segments, served, pause_ms in steps:
        try:
            with carrier.queue.give_ranks() as ranks:
                carrier.queue.read(
                    [(CARRIER, carrier.waiting[0].rank_us if carrier.waiting else None)], ranks
                )
                ranks.rank_us(account, CARRIER, 100 * messages, carrier.now_ms)
                raise TimeoutError
        except TimeoutError:
            pass
        carrier.send(account, messages, segments)
        other.send(account, messages, segments)
        assert [one[1:] for one in carrier.serve(served)] == [
            one[1:] for one in other.serve(served)
        ]
        for each in (carrier, other):
            each.now_ms += pause_ms


def test_what_is_being_stored_while_the_heads_are_read_counts_as_waiting() -> None:
    queue = FairQueue()
    with queue.give_ranks() as large:
        begin_us = large.rank_us("amina", CARRIER, 10_000, NOW_MS)
        with queue.give_ranks() as small:
            queue.read([(CARRIER, None)], small)
            assert small.rank_us("bilal", CARRIER, 1, NOW_MS + 200) <= begin_us
    with queue.give_ranks() as next_one:  # the heads were read before that was stored
        assert (
            next_one.rank_us("amina", CARRIER, 1, NOW_MS + 300)
            == begin_us + 10_000 * FAIR_SPACING_US
        )


def test_an_account_without_anything_waiting_owes_nothing() -> None:
    queue = FairQueue()
    with queue.give_ranks() as ranks:
        ranks.rank_us("amina", CARRIER, 10_000, NOW_MS)
    with queue.give_ranks() as ranks:
        queue.read([(CARRIER, None)], ranks)
        assert ranks.rank_us("amina", CARRIER, 1, NOW_MS + 1) == (NOW_MS + 1) * 1_000
