"""Cancels what is being accepted for a phone while its opt-out is stored, once that is committed:
whoever accepts it has not seen the opt-out. SQLite has one writer, and no such moment.

Three steps: whoever has asked about opt-outs, and not locked the wallets yet, is waited for; then
whoever has locked them; then what they have queued is canceled, and so is what the opt-out's own
transaction has missed, because carriers' turns were taking of the same run. None of these
transactions keeps anybody waiting for longer than it takes.

A transactional text of these moments is canceled, too: nothing tells it from another one.
"""

import time
from collections.abc import Iterable
from typing import Final

from heliograph.base.periodic import until
from heliograph.database.database import Database
from heliograph.database.hot import HotTx, run_in
from heliograph.database.statements import Int, Nothing, Row, Statement, Text
from heliograph.messages.accept.opt_out_lookups import LOOKUPS_BEFORE_LOCK
from heliograph.messages.accept.read_sql import lock_wallets
from heliograph.messages.sweeps.opt_out import UnwantedTexts, cancel_those_since

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


async def wait_for_accepting(db: Database, account_ids: Iterable[str]) -> None:
    """Waits for all who may be accepting texts of these accounts (raw ids) without having seen the
    opt-outs that are committed now.
    """
    beside = _StillAccepting()

    async def are_done() -> bool:
        async with db.hot() as tx:
            return beside.are_done(await _accepting(tx))

    await until(are_done, look_s=AGAIN_S)
    async with db.hot() as tx:
        await lock_wallets(tx, sorted(set(account_ids)))


async def cancel_accepted_meanwhile(
    db: Database, unwanted: Iterable[UnwantedTexts], since_ms: int
) -> None:
    """Cancels what was accepted so of these texts, whose opt-outs are committed and were made from
    `since_ms` on.
    """
    texts = sorted(unwanted)
    await wait_for_accepting(db, [each.account_id for each in texts])
    for _ in range(CANCELED_MAX):
        async with db.hot() as tx:
            is_done = await cancel_those_since(tx, texts, since_ms)
        if is_done:
            break


def cancel_accepted_beside(db: Database, unwanted: UnwantedTexts, since_ms: int) -> None:
    """Does what `cancel_accepted_meanwhile` does, in ordinary transactions."""
    beside = _StillAccepting()
    while not beside.are_done(db.transact(lambda tx: run_in(tx, _accepting))):
        time.sleep(AGAIN_S)
    db.transact(lambda tx: run_in(tx, lambda hot: lock_wallets(hot, [unwanted.account_id])))
    for _ in range(CANCELED_MAX):
        if db.transact(
            lambda tx: run_in(tx, lambda hot: cancel_those_since(hot, [unwanted], since_ms))
        ):
            break


async def _accepting(tx: HotTx) -> set[_Accepting]:
    return set(await _ACCEPTING.rows(tx, Nothing()))
