"""Batches work without timers: while one batch is being carried out, what arrives waits in a list,
and the next batch takes all of it.

Alone, an item waits for nobody; under load, hundreds share one transaction. And a batch never fails
for one of its items:

- after a deadlock, a serialization failure or a lock that was not got in time, the whole batch is
  run again, up to 5 times;
- after a lost connection it is run again, and told that it may have happened already, for the reply
  to COMMIT may be what was lost. If that took so long that it must be refused now, so must be what
  has waited behind it for as long;
- after any other error of the database, the batch is halved until the item that fails alone gets
  the error.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from heliograph.base import cancelling, clock
from heliograph.base.errors import ServiceError, Unavailable
from heliograph.base.log import Log, error_fields
from heliograph.database.commits import Commits, Unconfirmed
from heliograph.database.outage import CONFLICT_TRIES, is_conflict

# then 503, within the 2 s that a client may have to wait for one:
LOST_RETRY_DELAYS_S: Final = (0.05, 0.2, 0.5)
# of its coming is a batch tried again. It takes a try up to 0.8 s to find no host
# (hosts.SHOWN_WITHIN_S)
RETRIED_WITHIN_S: Final = 1.1

# this process judges one batch while the database stores the other; more of them only get smaller
BATCHES_AT_ONCE: Final = 2

Item = TypeVar("Item")
ResponseT = TypeVar("ResponseT")
log = Log(__name__)

Run = Callable[[Sequence[Item], bool], Awaitable[Sequence[ResponseT | ServiceError]]]


class _WaitingItem(NamedTuple, Generic[Item, ResponseT]):
    item: Item
    answer: "asyncio.Future[ResponseT | ServiceError]"
    came_s: float  # monotonic


class Batcher(Generic[Item, ResponseT]):
    """Carries items out in batches. `run(items, is_repeat)` gives each item's result, in
    order; it is one transaction.

    `weigh` says how much of `most` an item takes; `waiting_max` is how much may wait before
    submit() raises Unavailable. With `at_once` 2 the next batch is made ready while the database
    works on the one before. When `commits` are found unconfirmed, nobody waits any longer.
    """

    def __init__(
        self,
        run: Run[Item, ResponseT],
        *,
        most: int,
        waiting_max: int,
        weigh: Callable[[Item], int],
        commits: Commits,
        at_once: int = 1,
    ) -> None:
        self._run = run
        self._commits = commits
        self._is_listening = False
        self._most = most
        self._weigh = weigh
        self._waiting: deque[_WaitingItem[Item, ResponseT]] = deque()
        self._waiting_weight = 0
        self._waiting_max = waiting_max
        self._at_once = at_once
        # each with its batch
        self._running: dict[asyncio.Task[None], list[_WaitingItem[Item, ResponseT]]] = {}
        # a batch that has not taken its items yet: what comes now goes with it
        self._is_starting = False

    async def submit(self, item: Item) -> ResponseT:
        """Returns the item's result, after the transaction that holds it is committed. Raises what
        the item alone was refused with, Unavailable if too many wait, or Unconfirmed.
        """
        self._commits.check()
        if not self._is_listening:
            self._commits.on_unconfirmed(self._give_up)
            self._is_listening = True
        if self._waiting_weight >= self._waiting_max:
            raise Unavailable("Too many requests are waiting.")
        answer: asyncio.Future[ResponseT | ServiceError] = (
            asyncio.get_running_loop().create_future()
        )
        self._waiting.append(_WaitingItem(item, answer, clock.monotonic_s()))
        self._waiting_weight += self._weigh(item)
        if not self._is_starting and len(self._running) < self._at_once:
            self._is_starting = True
            self._running[asyncio.create_task(self._work())] = []
        result = await answer
        if isinstance(result, ServiceError):
            raise result
        return result

    async def _work(self) -> None:
        self._is_starting = False
        task = asyncio.current_task()
        assert task is not None
        try:
            while self._waiting:
                batch = self._running[task] = self._take()
                results = await self._carry_out(
                    [entry.item for entry in batch], batch[0].came_s + RETRIED_WITHIN_S
                )
                for entry, result in zip(batch, results, strict=True):
                    if not entry.answer.done():  # its client may have gone
                        entry.answer.set_result(result)
        finally:
            # in the step that found nothing waiting: what comes in the next one must start a new
            # task
            del self._running[task]

    def _give_up(self) -> None:
        """Tells all who wait that the database cannot be reached: also those whose batch waits
        for a lock, and those whose turn is still to come. Of these nothing is done.
        """
        for batch in (self._waiting, *self._running.values()):
            for entry in batch:
                if not entry.answer.done():
                    entry.answer.set_result(Unconfirmed())
        self._waiting.clear()
        self._waiting_weight = 0

    def _refuse_late(self, message: str) -> None:
        """Refuses the items that have waited too long for another try behind a batch that was lost.
        None of them was begun.
        """
        while self._waiting and clock.monotonic_s() > self._waiting[0].came_s + RETRIED_WITHIN_S:
            late = self._waiting.popleft()
            self._waiting_weight -= self._weigh(late.item)
            if not late.answer.done():
                late.answer.set_result(Unavailable(message))

    def _take(self) -> list[_WaitingItem[Item, ResponseT]]:
        batch = [self._waiting.popleft()]
        weight = self._weigh(batch[0].item)
        while (
            self._waiting
            and weight + (next_weight := self._weigh(self._waiting[0].item)) <= self._most
        ):
            batch.append(self._waiting.popleft())
            weight += next_weight
        self._waiting_weight -= weight
        return batch

    async def _carry_out(
        self,
        items: Sequence[Item],
        until_s: float,
        is_repeat: bool = False,
        tries: int = CONFLICT_TRIES,
    ) -> Sequence[ResponseT | ServiceError]:
        lost = conflicts = 0
        while True:
            try:
                return await self._run(items, is_repeat)
            except Unavailable as error:
                is_late = clock.monotonic_s() > until_s
                if lost == len(LOST_RETRY_DELAYS_S) or is_late or isinstance(error, Unconfirmed):
                    self._refuse_late(error.message)
                    # one for each: a raised exception keeps its waiter's frames
                    return [Unavailable(error.message) for _ in items]
                await asyncio.sleep(LOST_RETRY_DELAYS_S[lost])
                lost, is_repeat = lost + 1, True
            # whatever it is: one item must not take its neighbours down
            except Exception as error:  # noqa: BLE001
                cancelling.raise_if_cancelled(error)
                if is_conflict(error) and conflicts < tries:
                    conflicts += 1
                    continue
                return await self._halve(items, error, until_s, is_repeat)

    async def _halve(
        self, items: Sequence[Item], error: Exception, until_s: float, is_repeat: bool
    ) -> Sequence[ResponseT | ServiceError]:
        if len(items) > 1:
            # one stuck lock must not hold the lane for each half anew
            middle, tries = len(items) // 2, 0 if is_conflict(error) else CONFLICT_TRIES
            return [
                *await self._carry_out(items[:middle], until_s, is_repeat, tries),
                *await self._carry_out(items[middle:], until_s, is_repeat, tries),
            ]
        if is_conflict(error):
            return [Unavailable("The database is busy.")]
        log.error("batch_item_failed", **error_fields(error))
        return [
            ServiceError("Something went wrong on our side; the request id finds it in our log.")
        ]
