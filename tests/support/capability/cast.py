"""Holds the factories for the tests of use cases: they are plain functions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from heliograph import accounts, wallet
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.wallet import ledger

NOW_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z

T = TypeVar("T")


def account(
    db: Database,
    name: str = "amina",
    *,
    credits: int = 0,
    balance: int = 0,
    parent_id: str | None = None,
) -> accounts.Account:
    """Opens an account in Ghana, with a wallet in GHS that holds this much."""
    with db.write() as tx:
        made = accounts.create(tx, name, "GH", parent_id=parent_id, now_ms=NOW_MS)
        wallet.open_wallet(tx, made.id, "GHS")
        if credits:
            ledger.grant(tx, made.id, credits, "to begin with", now_ms=NOW_MS)
        if balance:
            ledger.topup(tx, made.id, balance, "to begin with", now_ms=NOW_MS)
    return made


def epoch(db: Database) -> int:
    with db.read() as tx:
        return config.epoch(tx)


def at_once(count: int, work: Callable[[int], T]) -> list[T | Exception]:
    """Returns what `work(k)` gave in each of `count` threads that start together: its result, or
    the exception.
    """
    start = Barrier(count)

    def run(k: int) -> T | Exception:
        start.wait()
        try:
            return work(k)
        except Exception as error:  # noqa: BLE001  it is the result
            return error

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))
