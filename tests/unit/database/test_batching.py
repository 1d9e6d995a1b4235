"""A batch never fails for one of its items, and nobody waits for more than the batch before."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import exc

from heliograph.base.errors import InsufficientCredits, ServiceError, Unavailable
from heliograph.database import batching
from heliograph.database.batching import Batcher
from heliograph.database.commits import Backend, Commits, Unconfirmed
from tests.support.factories import awaited, away, unconnected

Run = Callable[[Sequence[int], bool], Awaitable[Sequence[str | ServiceError]]]

DEADLOCK = asyncpg.DeadlockDetectedError("deadlock detected")
LOCKED = exc.OperationalError("UPDATE", {}, asyncpg.LockNotAvailableError("lock timeout"))
DUPLICATE = asyncpg.UniqueViolationError("Key (id)=(secret) already exists.")
FAULT = ZeroDivisionError("a fault of ours")

SESSION = Backend(1, 1)


class Transactions:
    """Runs what a batcher gives it: keeps the batches, and can be held up, or made to fail by
    `faults` and for `poison`.
    """

    def __init__(
        self,
        *faults: Exception,
        poison: frozenset[int] = frozenset(),
        poisonous: Exception = DUPLICATE,
    ) -> None:
        self.batches: list[tuple[list[int], bool]] = []
        self.faults = list(faults)
        self.poison, self.poisonous = poison, poisonous
        self.may_commit = asyncio.Event()
        self.may_commit.set()

    async def run(self, items: Sequence[int], again: bool) -> Sequence[str | ServiceError]:
        self.batches.append((list(items), again))
        await self.may_commit.wait()
        if self.faults:
            raise self.faults.pop(0)
        if self.poison & set(items):
            raise self.poisonous
        return [
            InsufficientCredits(required=item, available=0) if item < 0 else f"done {item}"
            for item in items
        ]


def batcher(
    transactions: Transactions, most: int = 100, waiting_max: int = 1_000, at_once: int = 1
) -> Batcher[int, str]:
    return Batcher(
        transactions.run,
        most=most,
        waiting_max=waiting_max,
        weigh=abs,
        commits=Commits(unconnected),
        at_once=at_once,
    )


async def all_of(batches: Batcher[int, str], items: Sequence[int]) -> list[str | BaseException]:
    return await asyncio.gather(*map(batches.submit, items), return_exceptions=True)


@pytest.fixture
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "LOST_RETRY_DELAYS_S", (0,) * len(batching.LOST_RETRY_DELAYS_S))
    monkeypatch.setattr(batching, "RETRIED_WITHIN_S", 60.0)  # however busy the machine is


@awaited
async def test_alone_an_item_waits_for_nobody() -> None:
    transactions = Transactions()
    alone = asyncio.create_task(batcher(transactions).submit(7))
    for _ in range(5):
        await asyncio.sleep(0)
    assert alone.done()
    assert (alone.result(), transactions.batches) == ("done 7", [([7], False)])


@awaited
async def test_what_arrives_during_one_batch_is_the_next_one() -> None:
    transactions = Transactions()
    transactions.may_commit.clear()
    batches = batcher(transactions)
    first = asyncio.create_task(batches.submit(1))
    while not transactions.batches:
        await asyncio.sleep(0)
    others = [asyncio.create_task(batches.submit(item)) for item in (2, 3, 4)]
    await asyncio.sleep(0)
    transactions.may_commit.set()
    assert await asyncio.gather(first, *others) == ["done 1", "done 2", "done 3", "done 4"]
    assert [items for items, _ in transactions.batches] == [[1], [2, 3, 4]]


@awaited
@pytest.mark.parametrize("at_once", [1, 2])
async def test_a_client_that_sends_one_after_the_other_never_waits_for_another_client(
    at_once: int,
) -> None:
    batches = batcher(Transactions(), at_once=at_once)
    async with asyncio.timeout(5):
        assert [await batches.submit(item) for item in (1, 2, 3)] == ["done 1", "done 2", "done 3"]


@awaited
async def test_with_two_at_once_the_next_batch_begins_while_the_one_before_is_stored() -> None:
    transactions = Transactions()
    transactions.may_commit.clear()
    batches = batcher(transactions, at_once=2)
    tasks = []
    for item in (1, 2, 3, 4):
        tasks.append(asyncio.create_task(batches.submit(item)))
        for _ in range(3):
            await asyncio.sleep(0)
    assert transactions.batches == [([1], False), ([2], False)]
    transactions.may_commit.set()
    assert await asyncio.gather(*tasks) == ["done 1", "done 2", "done 3", "done 4"]
    assert transactions.batches[2:] == [([3, 4], False)]


@awaited
async def test_a_batch_holds_no_more_than_it_may_unless_one_item_does_alone() -> None:
    transactions = Transactions()
    batches = batcher(transactions, most=10)
    assert await all_of(batches, [4, 6, 1, 25, 9, 2]) == [
        f"done {item}" for item in (4, 6, 1, 25, 9, 2)
    ]
    assert [items for items, _ in transactions.batches] == [[4, 6], [1], [25], [9], [2]]


@awaited
async def test_each_refusal_is_raised_where_it_belongs() -> None:
    batches = batcher(Transactions())
    tasks = {item: asyncio.create_task(batches.submit(item)) for item in (3, -8, 5, -2)}
    assert (await tasks[3], await tasks[5]) == ("done 3", "done 5")
    for item in (-8, -2):
        with pytest.raises(InsufficientCredits) as refusal:
            await tasks[item]
        assert refusal.value.extra["required"] == item


@given(
    st.integers(1, 20),
    st.sets(st.integers(1, 20)),
    st.sampled_from([DUPLICATE, FAULT, exc.IntegrityError("INSERT", {}, DUPLICATE)]),
)
def test_items_that_fail_fail_alone_and_without_a_detail(
    count: int, poison: set[int], poisonous: Exception
) -> None:
    async def story() -> None:
        outcomes = await all_of(
            batcher(Transactions(poison=frozenset(poison), poisonous=poisonous), most=10_000),
            range(1, count + 1),
        )
        for item, outcome in enumerate(outcomes, 1):
            if item not in poison:
                assert outcome == f"done {item}"
                continue
            assert isinstance(outcome, ServiceError)
            assert (outcome.code, outcome.status) == ("INTERNAL_ERROR", 500)
            assert "secret" not in outcome.message

    asyncio.run(story())


@awaited
async def test_a_failure_takes_no_more_transactions_than_halving_needs() -> None:
    transactions = Transactions(poison=frozenset({5}))
    await all_of(batcher(transactions), range(1, 9))
    assert [items for items, _ in transactions.batches] == [
        [1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [5, 6],
        [5],
        [6],
        [7, 8],
    ]


@awaited
@pytest.mark.parametrize("conflict", [DEADLOCK, LOCKED])
async def test_a_conflict_is_tried_again_whole_five_times(conflict: Exception) -> None:
    transactions = Transactions(*[conflict] * 5)
    assert await all_of(batcher(transactions), [1, 2]) == ["done 1", "done 2"]
    assert transactions.batches == [([1, 2], False)] * 6


@awaited
async def test_a_conflict_that_does_not_end_is_503_and_holds_up_nobody_else() -> None:
    transactions = Transactions(poison=frozenset({2}), poisonous=DEADLOCK)
    kept, stuck = await all_of(batcher(transactions), [1, 2])
    assert kept == "done 1"
    assert isinstance(stuck, Unavailable)
    assert transactions.batches[-1] == ([2], False)


@awaited
@pytest.mark.usefixtures("no_delays")
async def test_after_a_lost_connection_the_batch_is_told_that_it_may_be_stored_already() -> None:
    transactions = Transactions(Unavailable(), DEADLOCK, Unavailable())
    assert await all_of(batcher(transactions), [1, 2]) == ["done 1", "done 2"]
    assert transactions.batches == [([1, 2], again) for again in (False, True, True, True)]
    await batcher(transactions).submit(3)
    assert transactions.batches[-1] == ([3], False)


@awaited
@pytest.mark.usefixtures("no_delays")
async def test_the_halves_of_a_batch_that_may_be_stored_know_it() -> None:
    transactions = Transactions(Unavailable(), poison=frozenset({2}))
    outcomes = await all_of(batcher(transactions), [1, 2])
    assert outcomes[0] == "done 1"
    assert transactions.batches == [([1, 2], False), ([1, 2], True), ([1], True), ([2], True)]


@awaited
@pytest.mark.usefixtures("no_delays")
async def test_a_database_that_stays_away_is_503_for_all_and_the_next_ones_are_tried_anew() -> None:
    tries = 1 + len(batching.LOST_RETRY_DELAYS_S)
    transactions = Transactions(
        *[Unavailable("The database is not reachable.") for _ in range(tries)]
    )
    batches = batcher(transactions)
    outcomes = await all_of(batches, [1, 2])
    assert all(
        isinstance(outcome, Unavailable) and outcome.message == "The database is not reachable."
        for outcome in outcomes
    )
    assert outcomes[0] is not outcomes[1]  # an exception raised twice holds both requests' frames
    assert len(transactions.batches) == tries
    assert await batches.submit(3) == "done 3"


@awaited
async def test_a_batch_that_is_lost_late_is_503_at_once_and_so_is_what_waited_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, "RETRIED_WITHIN_S", 0.0)
    transactions = Transactions(Unavailable("The database is not reachable."))
    transactions.may_commit.clear()
    batches = batcher(transactions)
    first = asyncio.create_task(batches.submit(1))
    while not transactions.batches:
        await asyncio.sleep(0)
    second = asyncio.create_task(batches.submit(2))
    await asyncio.sleep(0.01)
    transactions.may_commit.set()
    assert {
        type(error) for error in await asyncio.gather(first, second, return_exceptions=True)
    } == {Unavailable}
    assert transactions.batches == [([1], False)]
    assert await batches.submit(3) == "done 3"


@awaited
async def test_past_the_waiting_limit_submitting_is_503_at_once_until_there_is_room_again() -> None:
    transactions = Transactions()
    transactions.may_commit.clear()
    batches = batcher(transactions, most=5, waiting_max=10)
    tasks = [asyncio.create_task(batches.submit(5))]
    while not transactions.batches:
        await asyncio.sleep(0)
    tasks += [asyncio.create_task(batches.submit(5)) for _ in range(2)]
    await asyncio.sleep(0)  # what is under way does not wait: 10 do
    with pytest.raises(Unavailable):
        await batches.submit(1)
    transactions.may_commit.set()
    await asyncio.gather(*tasks)
    assert await batches.submit(1) == "done 1"


@awaited
async def test_a_client_that_goes_away_disturbs_nobody_and_its_item_is_done() -> None:
    transactions = Transactions()
    transactions.may_commit.clear()
    batches = batcher(transactions)
    tasks = [asyncio.create_task(batches.submit(item)) for item in (1, 2, 3)]
    while not transactions.batches:
        await asyncio.sleep(0)
    tasks[1].cancel()
    late = asyncio.create_task(batches.submit(4))
    await asyncio.sleep(0)
    late.cancel()
    transactions.may_commit.set()
    outcomes = await asyncio.gather(*tasks, late, return_exceptions=True)
    assert (outcomes[0], outcomes[2]) == ("done 1", "done 3")
    assert all(
        isinstance(outcome, asyncio.CancelledError) for outcome in (outcomes[1], outcomes[3])
    )
    assert await batches.submit(5) == "done 5"
    assert [item for items, _ in transactions.batches for item in items] == [1, 2, 3, 4, 5]


@awaited
async def test_who_waits_is_told_of_unconfirmed_commits_and_what_was_not_begun_is_not_done() -> (
    None
):
    unconfirmed = Commits(away)
    transactions = Transactions()
    transactions.may_commit.clear()
    batches = Batcher(transactions.run, most=100, waiting_max=1_000, weigh=abs, commits=unconfirmed)
    first = asyncio.create_task(batches.submit(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = asyncio.create_task(batches.submit(2))
    await asyncio.sleep(0)
    unconfirmed.add(SESSION)
    assert {
        type(error) for error in await asyncio.gather(first, second, return_exceptions=True)
    } == {Unconfirmed}
    with pytest.raises(Unconfirmed):
        await batches.submit(3)
    unconfirmed.note_ended(SESSION)
    transactions.may_commit.set()
    assert await batches.submit(4) == "done 4"
    assert [items for items, _ in transactions.batches] == [[1], [4]]
