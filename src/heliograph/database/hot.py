"""Transactions of the hot paths: a few statements that carry the load, awaited in the event loop as
raw SQL over columns of values.

On PostgreSQL a transaction is one of an asyncpg connection (`hot_postgres.py`); on SQLite the same
calls run in the one writer thread (`hot_sqlite.py`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class HotTx(Protocol):
    """A transaction of the hot paths. `news`: what others of this process hear once it is
    committed, by name (`News`).
    """

    postgresql: bool
    news: set[str]

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """Returns the rows of one statement with `$1…` for its values. The text is the same for
        both databases where it needs no arrays.
        """
        ...

    async def over(self, sql: str, *columns: Sequence[Any]) -> list[Any]:
        """Returns the rows of one statement over equally long columns of values: arrays to
        `unnest` on PostgreSQL, one execution a row on SQLite.
        """
        ...


async def meanwhile(asked: Coroutine[Any, Any, object], work: Callable[[], T]) -> T:
    """Returns what `work` returns. It is done while the database is busy with what it was
    `asked`.
    """
    asking = asyncio.ensure_future(asked)
    try:
        await asyncio.sleep(0)  # in which it is asked
        return work()
    finally:
        await asking


class News:
    """This tells in the event loop what was committed in this process. Other processes hear
    nothing of it: they look by themselves.
    """

    def __init__(self) -> None:
        self._heard_by: dict[str, list[Callable[[], None]]] = {}

    def hear(self, name: str, tell: Callable[[], None]) -> None:
        self._heard_by.setdefault(name, []).append(tell)

    def ignore(self, name: str, tell: Callable[[], None]) -> None:
        self._heard_by[name].remove(tell)

    def committed(self, news: set[str]) -> None:
        for name in news:
            for tell in self._heard_by.get(name, ()):
                tell()
