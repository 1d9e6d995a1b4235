"""The fair queue, whatever was queued and served before: a newcomer is next, and an account's own messages keep their order."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.messages.fair import BULK_FROM_US, FAIR_SPACING_US, FairQueue

NOW_MS = 1_800_000_000_000
CARRIER = 2
SENDS = st.lists(st.tuples(st.sampled_from(["amina", "bilal"]), st.integers(1, 20), st.integers(0, 30), st.integers(0, 10_000)), max_size=30)


def told(queue: FairQueue, waiting: list[tuple[int, str]]) -> None:
    queue.read([(CARRIER, waiting[0][0] if waiting else None), (CARRIER + 1, None)])


@given(SENDS)
def test_who_has_nothing_waiting_is_next(sends: list[tuple[str, int, int, int]]) -> None:
    queue, waiting, now_ms = FairQueue(), list[tuple[int, str]](), NOW_MS
    for account, messages, served, pause_ms in sends:
        told(queue, waiting)
        first_us = queue.rank_us(account, CARRIER, messages, now_ms)
        ranks = [first_us + k * FAIR_SPACING_US for k in range(messages)]
        assert first_us >= BULK_FROM_US
        assert all(rank_us < first_us for rank_us, whose in waiting if whose == account), "an account's own come one after the other"
        waiting = sorted([*waiting, *((rank_us, account) for rank_us in ranks)])[served:]
        now_ms += pause_ms
    told(queue, waiting)
    newcomer_us = queue.rank_us("chidi", CARRIER, 1, now_ms)
    assert all(newcomer_us < rank_us for rank_us, _ in waiting)


@given(st.integers(2, 5), st.integers(1, 50), st.integers(0, 100_000))
def test_accounts_that_have_much_waiting_are_served_alike(accounts: int, served_at_once: int, first_lead: int) -> None:
    queue, waiting = FairQueue(), list[tuple[int, str]]()
    for number in range(accounts):
        told(queue, waiting)
        first_us = queue.rank_us(f"account {number}", CARRIER, 200 + first_lead * (number == 0), NOW_MS)
        waiting = sorted([*waiting, *((first_us + k * FAIR_SPACING_US, f"account {number}") for k in range(200))])
        waiting = waiting[served_at_once * (number == 0) :]
    served = [whose for _, whose in waiting[: 100 * accounts]]
    shares = [served.count(f"account {number}") for number in range(accounts)]
    assert max(shares) - min(shares) <= 1 + accounts
