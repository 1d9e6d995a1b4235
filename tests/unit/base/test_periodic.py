"""A loop that does the same work again and again outlives its faults, and ends when it is told."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, NoReturn

import asyncpg
import pytest
from structlog.testing import capture_logs

from heliograph.base import log
from heliograph.base.log import survive_faults
from heliograph.base.periodic import repeat, until
from tests.support.factories import awaited

LONG_S = 3_600.0
CLOCK_S = 0.002  # how much a timer of the event loop may be early


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[MutableMapping[str, Any]]]:
    # A logger that has written keeps what was configured then, and is not captured.
    monkeypatch.setattr(log, "log", log.Log("periodic"))
    with capture_logs() as lines:
        yield lines


class Work:
    """Counts its rounds, and fails in those that it is told to."""

    def __init__(self, *fails_in: int) -> None:
        self.rounds = 0
        self._fails_in = fails_in
        self._round = asyncio.Condition()

    async def once(self) -> None:
        async with self._round:
            self.rounds += 1
            self._round.notify_all()
        if self.rounds in self._fails_in:
            raise ValueError("+233201234567")

    async def reaches(self, rounds: int) -> None:
        async with self._round:
            await self._round.wait_for(lambda: self.rounds >= rounds)


async def ended(loop: "asyncio.Task[NoReturn]") -> None:
    loop.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({loop})


@awaited
async def test_after_a_fault_which_is_logged_the_next_round_comes(
    logs: list[MutableMapping[str, Any]],
) -> None:
    work = Work(1, 3)
    loop = asyncio.create_task(
        repeat(work.once, wait=0.0, fault="it_failed", level="warning", check="all")
    )
    await work.reaches(4)
    await ended(loop)
    assert [
        (line["event"], line["log_level"], line["check"], line["error"]) for line in logs
    ] == 2 * [("it_failed", "warning", "all", "ValueError")]
    assert "233201234567" not in str(logs), "a log tells the kind of an error, never its text"


@awaited
async def test_a_fault_is_an_error_unless_it_is_said_to_be_less(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with survive_faults("it_failed"):
        raise ValueError
    assert [line["log_level"] for line in logs] == ["error"]


@awaited
async def test_the_first_round_waits_as_all_others_do_unless_it_has_a_time_of_its_own() -> None:
    waits, at_once, soon = Work(), Work(), Work()
    loops = [
        asyncio.create_task(repeat(waits.once, wait=LONG_S, fault="it_failed")),
        asyncio.create_task(repeat(at_once.once, wait=LONG_S, first_after_s=0, fault="it_failed")),
        asyncio.create_task(repeat(soon.once, wait=LONG_S, first_after_s=0.01, fault="it_failed")),
    ]
    await at_once.reaches(1)
    assert soon.rounds == 0
    await soon.reaches(1)
    for loop in loops:
        await ended(loop)
    assert (waits.rounds, at_once.rounds, soon.rounds) == (0, 1, 1)


@awaited
async def test_a_round_comes_when_what_it_waits_for_has_come() -> None:
    work, due = Work(2), asyncio.Event()

    async def until_due() -> None:
        await due.wait()
        due.clear()

    loop = asyncio.create_task(repeat(work.once, wait=until_due, fault="it_failed"))
    await asyncio.sleep(0)
    assert work.rounds == 0
    for rounds in (1, 2, 3):
        due.set()
        await work.reaches(rounds)
    await asyncio.sleep(0)
    assert work.rounds == 3
    await ended(loop)


@awaited
async def test_an_error_of_what_is_waited_for_ends_the_loop() -> None:
    async def fails() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await repeat(Work().once, wait=fails, fault="it_failed")


@awaited
async def test_without_a_fault_to_log_an_error_of_the_work_ends_the_loop() -> None:
    with pytest.raises(ValueError, match="233201234567"):
        await repeat(Work(2).once, wait=0.0, fault=None)


@awaited
async def test_a_plain_function_is_repeated_as_well() -> None:
    called = asyncio.Event()
    loop = asyncio.create_task(repeat(called.set, wait=0.0, fault=None))
    async with asyncio.timeout(5):
        await called.wait()
        called.clear()
        await called.wait()
    await ended(loop)


@awaited
async def test_what_is_waited_for_is_asked_until_it_is_so() -> None:
    work = Work()

    async def is_done() -> bool:
        await work.once()
        return work.rounds == 3

    await until(is_done, look_s=0.0)
    assert work.rounds == 3


@awaited
async def test_what_is_so_already_is_not_waited_for() -> None:
    async with asyncio.timeout(5):
        await until(lambda: True, look_s=LONG_S)


@awaited
async def test_what_is_asked_for_has_pauses_between_its_answers() -> None:
    asked: list[float] = []

    def is_third() -> bool:
        asked.append(asyncio.get_running_loop().time())
        return len(asked) == 3

    await until(is_third, look_s=0.02)
    assert asked[2] - asked[0] >= 0.04 - CLOCK_S


@awaited
async def test_an_error_of_what_is_asked_ends_the_wait() -> None:
    async def fails() -> bool:
        raise LookupError

    with pytest.raises(LookupError):
        await until(fails, look_s=0.0)


async def given_back(waiting: asyncio.Event) -> None:
    """Waits on a connection, which is dead: asyncpg, giving it back, raises this in place of the
    CancelledError that it met. Who goes on after that waits here again, and is not lost twice.
    """
    if waiting.is_set():
        await asyncio.get_running_loop().create_future()
    try:
        waiting.set()
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        raise asyncpg.InternalClientError("released twice")  # noqa: B904


async def in_a_loop(waiting: asyncio.Event) -> None:
    await repeat(lambda: given_back(waiting), wait=0.0, fault="it_failed")


async def in_a_block(waiting: asyncio.Event) -> None:
    with survive_faults("it_failed"):
        await given_back(waiting)


@pytest.mark.parametrize("place", [in_a_loop, in_a_block])
@awaited
async def test_a_cancellation_that_a_driver_turned_into_an_error_ends_it(
    logs: list[MutableMapping[str, Any]], place: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    waiting = asyncio.Event()
    task = asyncio.ensure_future(place(waiting))
    await waiting.wait()
    task.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({task})
    assert task.cancelled()
    assert not logs
