"""Cancels what is being accepted for a phone while its opt-out is stored, once that is committed:
whoever accepts it has not seen the opt-out. SQLite has one writer, and no such moment.

Three steps: whoever has asked about opt-outs, and not locked the wallets yet, is waited for; then
whoever has locked them; then what they have queued is canceled, and so is what the opt-out's own
transaction has missed, because carriers' turns were taking of the same run. None of these
transactions keeps anybody waiting for longer than it takes.

A transactional text of these moments is canceled, too: nothing tells it from another one.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final, Protocol, TypeVar

from heliograph.base.periodic import until
from heliograph.database.database import Database
from heliograph.database.hot import HotTx, run_in, run_without_loop
from heliograph.database.statements import Int, Nothing, Row, Statement, Text
from heliograph.database.statements.opt_out_lookups import LOOKUPS_BEFORE_LOCK
from heliograph.messages.accept.read_sql import lock_wallets
from heliograph.messages.sweeps.opt_out import UnwantedTexts, cancel_unwanted_since

T = TypeVar("T")
AGAIN_S: Final = 0.005  # as long as accepting a small batch takes
# for a run of which turns take some each time: of 10,000 messages, some thousand in a turn
CANCELED_MAX: Final = 100


class _Accepting(Row, frozen=True):
    """Names a transaction that has asked about opt-outs, and may not hold its wallets yet."""

    pid: Int
    began: Text


# A session says what it asks before PostgreSQL takes the snapshot in which it looks.
_ACCEPTING: Final = Statement(
    Nothing,
    _Accepting,
    postgresql=f"""
        SELECT pid, CAST(xact_start AS text) AS began FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND state = ANY('{{active,idle in transaction}}')
            AND starts_with(query, '{LOOKUPS_BEFORE_LOCK}') AND xact_start IS NOT NULL""",
)


class _StillAccepting:
    """Remembers which of the transactions that were found at the first look are still found. They
    end by themselves within seconds: the sessions of the hot paths have time limits.
    """

    def __init__(self) -> None:
        self._left: set[_Accepting] | None = None

    def are_done(self, found: set[_Accepting]) -> bool:
        self._left = found if self._left is None else self._left & found
        return not self._left


class _Transactions(Protocol):
    """Runs transactions one after the other."""

    async def run(self, work: Callable[[HotTx], Coroutine[Any, Any, T]]) -> T: ...

    async def until(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Asks `done` again and again until it returns True."""


class _Awaited:
    """Awaits its transactions, in the event loop."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def run(self, work: Callable[[HotTx], Coroutine[Any, Any, T]]) -> T:
        async with self._db.hot() as tx:
            return await work(tx)

    async def until(self, done: Callable[[], Awaitable[bool]]) -> None:
        await until(done, look_s=AGAIN_S)


class _Ordinary:
    """Does ordinary transactions, in a thread or in a command, and never waits for an event
    loop.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def run(self, work: Callable[[HotTx], Coroutine[Any, Any, T]]) -> T:
        return self._db.transact(lambda tx: run_in(tx, work))

    async def until(self, done: Callable[[], Awaitable[bool]]) -> None:
        while not await done():
            time.sleep(AGAIN_S)


async def wait_for_accepting(db: Database, account_ids: Iterable[str]) -> None:
    """Waits for all who may be accepting texts of these accounts (raw ids) without having seen the
    opt-outs that are committed now.
    """
    await _wait(_Awaited(db), account_ids)


async def cancel_accepted_meanwhile(
    db: Database, unwanted: Iterable[UnwantedTexts], since_ms: int
) -> None:
    """Cancels those of these texts that were accepted while their opt-outs were stored. The
    opt-outs are committed, and were made from `since_ms` on.
    """
    await _cancel(_Awaited(db), unwanted, since_ms)


def cancel_accepted_beside(db: Database, unwanted: UnwantedTexts, since_ms: int) -> None:
    """Does what `cancel_accepted_meanwhile` does, in ordinary transactions."""
    run_without_loop(_cancel(_Ordinary(db), [unwanted], since_ms))


async def _cancel(
    transactions: _Transactions, unwanted: Iterable[UnwantedTexts], since_ms: int
) -> None:
    texts = sorted(unwanted)
    await _wait(transactions, [each.account_id for each in texts])
    for _ in range(CANCELED_MAX):
        if await transactions.run(lambda tx: cancel_unwanted_since(tx, texts, since_ms)):
            break


async def _wait(transactions: _Transactions, account_ids: Iterable[str]) -> None:
    still_accepting = _StillAccepting()

    async def are_done() -> bool:
        return still_accepting.are_done(await transactions.run(_accepting))

    await transactions.until(are_done)
    in_order = sorted(set(account_ids))
    await transactions.run(lambda tx: lock_wallets(tx, in_order))


async def _accepting(tx: HotTx) -> set[_Accepting]:
    return set(await _ACCEPTING.rows(tx, Nothing()))
