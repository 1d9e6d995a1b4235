"""A loop of a coroutine that waits is `repeat` or `until` of `base/periodic.py`. A loop that is
written by hand is one more place where a fault can end it for good, or where it does not end when
it is told to. Loops of threads and commands cannot use these two; each is named here as well.
"""

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.support.sources import PACKAGE, Source, code_of, nodes_of, sources

PAUSES: Final = ("asyncio.sleep", "sleep", "asyncio.wait", "asyncio.wait_for")
SURVIVES: Final = ("survive_faults", "cancelling.raise_if_cancelled")

TRIES: Final = "it tries a limited number of times, then it answers"
# The loops that are neither of the two, by file and function, each with what it is instead.
EXCEPTIONS: Final = {
    ("base/periodic.py", "repeat"): "it is the helper",
    ("base/periodic.py", "until"): "it is the helper",
    (
        "base/cancelling.py",
        "cancel_and_wait",
    ): "it tells tasks to end until they have; the helper is above it",
    ("campaigns/advance.py", "once"): "it goes through a list, and no campaign keeps another back",
    (
        "campaigns/advance.py",
        "_expand",
    ): "it takes from a list, and a campaign that fails is left out",
    (
        "carriers/smpp/bind.py",
        "keep_bound",
    ): "its pauses grow, and a bind that lasted makes them short again",
    ("carriers/smpp/link.py", "close"): "it waits for each of its sessions once",
    ("carriers/smsc/handsets.py", "_tick"): (
        "it is a timer, which the first session starts, and `close` cancels at once"
    ),
    ("database/batching.py", "_carry_out"): TRIES,
    ("database/batching.py", "_work"): "it empties a list; what it calls tries a few times",
    ("database/cache.py", "_load_missing"): "it empties a list, and who waits gets the fault",
    ("database/postgresql/advisory_lock.py", "wait_until_lost"): (
        "it waits for the end of a connection, which it tries when nothing was heard for a second"
    ),
    ("database/postgresql/hosts.py", "ask"): (
        "it is a thread's, and takes one answer of each host, until a limit of time"
    ),
    ("database/postgresql/pool.py", "_check"): (
        "it is a timer, which goes on only while an answer is waited for"
    ),
    ("database/postgresql/pool.py", "_connect"): TRIES,
    (
        "database/commits.py",
        "_watch_unconfirmed",
    ): "it is a thread, for the event loop may be what waits",
    ("database/pruning.py", "in_batches"): "it is the helper of work in many transactions",
    ("database/outage.py", "run_again"): TRIES,
    ("database/migrate.py", "_months_or_none"): TRIES,
    ("database/migrate.py", "_try"): TRIES,
    ("inbound/receive/receiver.py", "run"): (
        "it empties a list, and what it does after a fault depends on the fault"
    ),
    ("messages/carrier/turn.py", "run"): (
        "a carrier's turn says how long the next one may wait, and what it does after a fault"
        " depends on the fault"
    ),
    ("messages/carrier/turn.py", "finish"): "it empties lists, and goes on after a fault as `run`",
    ("messages/sweeps/accepted_during_opt_out.py", "until"): (
        "it waits in a thread or in a command, after an opt-out"
    ),
    ("portal/sign_in/mailer.py", "send_due"): "it empties a list, and no mail keeps another back",
    (
        "portal/sign_in/mailer.py",
        "_send_sign_ups",
    ): "it empties a list, and no mail keeps another back",
    (
        "processes/checks/sealed_secrets.py",
        "rotate",
    ): "it is a command that works until all is done",
    (
        "processes/demo.py",
        "_send_and_follow",
    ): "it is a command that waits for one text, not for long",
    ("processes/exclusive.py", "take"): TRIES,
    ("processes/prefork.py", "run"): "it is a process without an event loop",
    ("processes/shared_limits.py", "_take"): TRIES,
    ("processes/smsc.py", "_serve"): "it says its counts while it waits for a signal",
    ("processes/wake.py", "_send"): "it empties a list, with a pause after each message",
    ("webhooks/endpoint_worker.py", "ended"): "it waits for tasks that may have become others",
}


class Loop(NamedTuple):
    path: str
    function: str
    line: int


def loops(found_in: tuple[Source, ...]) -> Iterator[Loop]:
    """Yields the loops that wait, also by another coroutine of their file, or that survive faults,
    and the functions that have a timer call them again. Those of coroutines come first.
    """
    for source in found_in:
        coroutines = [
            each for each in nodes_of(source.tree) if isinstance(each, ast.AsyncFunctionDef)
        ]
        pausing = {each.name for each in coroutines if any(map(_sleeps, _own(each)))}
        for function in coroutines:
            for loop in _own(function):
                if isinstance(loop, ast.While | ast.For | ast.AsyncFor) and any(
                    _waits(node, pausing) for node in _own(loop)
                ):
                    yield Loop(source.path, function.name, loop.lineno)
        for thread in nodes_of(source.tree):
            if isinstance(thread, ast.FunctionDef):
                for loop in _own(thread):
                    if isinstance(loop, ast.While | ast.For) and any(map(_pauses, nodes_of(loop))):
                        yield Loop(source.path, thread.name, loop.lineno)
                    if isinstance(loop, ast.Call) and _calls_later(loop, thread.name):
                        yield Loop(source.path, thread.name, loop.lineno)


def _pauses(node: ast.AST) -> bool:
    """Returns whether this makes a thread wait."""
    if not isinstance(node, ast.Call):
        return False
    name = code_of(node.func)
    return (
        name == "time.sleep"
        or name.endswith(".wait")
        or (name.endswith(".get") and any(each.arg == "timeout" for each in node.keywords))
    )


def _calls_later(call: ast.Call, function: str) -> bool:
    """Returns whether this has the event loop call the function later."""
    return code_of(call.func).endswith((".call_later", ".call_at")) and any(
        code_of(argument).removeprefix("self.") == function for argument in call.args[1:2]
    )


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yields what is below, without functions that are defined there."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def _sleeps(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and code_of(node.value.func) in ("asyncio.sleep", "sleep")
    )


def _waits(node: ast.AST, pausing: set[str]) -> bool:
    if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
        name = code_of(node.value.func)
        return name in PAUSES or name.endswith(".wait") or name.removeprefix("self.") in pausing
    return _pauses(node) or (isinstance(node, ast.Call) and code_of(node.func) in SURVIVES)


def test_a_loop_that_waits_is_repeat_or_until() -> None:
    by_hand = [
        f"{loop.path}:{loop.line} {loop.function}: use repeat or until of base/periodic.py"
        for loop in loops(sources(PACKAGE))
        if (loop.path, loop.function) not in EXCEPTIONS
    ]
    assert not by_hand, "\n".join(by_hand)


def test_each_exception_is_a_loop_that_there_is() -> None:
    there = {(loop.path, loop.function) for loop in loops(sources(PACKAGE))}
    assert not EXCEPTIONS.keys() - there


MADE_UP: Final = """
async def sleeps():
    while True:
        await asyncio.sleep(1)

async def waits_for_an_event(self):
    while self.is_open:
        async with asyncio.timeout(1):
            await self._news.wait()

async def survives():
    while True:
        with survive_faults("it_failed"):
            await work()

async def survives_by_hand():
    while True:
        try:
            await work()
        except Exception as error:
            cancelling.raise_if_cancelled(error)

async def has_one_within():
    async def inner():
        while not done():
            await asyncio.sleep(1)
    await inner()

async def tries_a_few_times():
    for number in range(5):
        await asyncio.sleep(number)

async def rests(self):
    await asyncio.sleep(1)

async def waits_by_another(self):
    while True:
        await self.rests()

async def reads_a_file():
    while block := await file.read():
        yield block

async def only_makes_what_waits():
    while names:
        async def pause():
            await asyncio.sleep(1)
        pauses.append(pause)

def runs_in_a_thread():
    while not stopped.wait(1):
        work()

def takes_in_a_thread():
    while True:
        work(waiting.get(timeout=1))

def is_called_again(self):
    self._timer = self._loop.call_later(1, self.is_called_again)

def has_another_called(self):
    self._timer = self._loop.call_later(1, self.is_called_again)
"""


def test_made_up_loops_are_found() -> None:
    made_up = Source("made_up.py", MADE_UP, ast.parse(MADE_UP))
    assert [loop.function for loop in loops((made_up,))] == [
        "sleeps",
        "waits_for_an_event",
        "survives",
        "survives_by_hand",
        "tries_a_few_times",
        "waits_by_another",
        "inner",
        "runs_in_a_thread",
        "takes_in_a_thread",
        "is_called_again",
    ]
