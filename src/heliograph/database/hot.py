"""Runs transactions of the hot paths: a few statements that carry the load, awaited in the event
loop as raw SQL over columns of values.

On PostgreSQL a transaction is one of an asyncpg connection (`postgresql/hot.py`); on SQLite the
same calls run in the one writer thread (`hot_sqlite.py`).
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from sqlalchemy.engine import Connection

from heliograph.database.arrays import as_text, literal

T = TypeVar("T")

KNOWN_MAX: Final = 1_000
_PLACE: Final = re.compile(r"\$(\d+)")


class HotTx(Protocol):
    """Carries out statements in a transaction of the hot paths. `signals` are the names of what it
    has done, of which listeners of this process are told once it is committed (`CommitListeners`).
    `learned` is what the next ones may know of it then, in `known`, so that they need not store it
    again.
    """

    postgresql: bool
    signals: set[str]
    learned: dict[int, int]
    known: Mapping[int, int]

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """Returns the rows of one statement with `$1…` for its values. The text is the same for
        both databases where it needs no arrays.
        """
        ...

    async def each(self, sql: str, sets: Sequence[Sequence[Any]]) -> list[Any]:
        """Returns the rows of one statement that SQLite executes once for each set of values."""
        ...


async def run_meanwhile(asked: Coroutine[Any, Any, object], work: Callable[[], T]) -> T:
    """Returns what `work` returns. It is done while the database is busy with what it was
    `asked`, or after that in a transaction of `run_in`, which has no event loop.
    """
    if asyncio._get_running_loop() is None:
        await asked
        return work()
    asking = asyncio.ensure_future(asked)
    try:
        await asyncio.sleep(0)  # in which it is asked
        return work()
    finally:
        await asking


class CommitListeners:
    """Tells listeners in the event loop what this process has committed. Other processes are not
    told: they look by themselves.
    """

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self.known: dict[int, int] = {}

    def listen(self, name: str, tell: Callable[[], None]) -> None:
        self._listeners.setdefault(name, []).append(tell)

    def stop_listening(self, name: str, tell: Callable[[], None]) -> None:
        self._listeners[name].remove(tell)

    def notify(self, signals: set[str], learned: Mapping[int, int]) -> None:
        if len(self.known) > KNOWN_MAX:
            self.known.clear()  # then it is stored once more
        self.known.update(learned)
        for name in signals:
            for tell in self._listeners.get(name, ()):
                tell()


def run_in(tx: Connection, work: Callable[[HotTx], Coroutine[Any, Any, T]]) -> T:
    """Returns what `work` returns when it is given this transaction. It may wait for nothing but
    statements of the transaction. What it adds to `signals` is heard by nobody.
    """
    return run_without_loop(work(_OrdinaryTx(tx)))


def run_without_loop(working: Coroutine[Any, Any, T]) -> T:
    """Returns what a coroutine returns that never waits for the event loop. Raises TypeError for
    one that does.
    """
    try:
        working.send(None)
    except StopIteration as done:
        returned: T = done.value
        return returned
    working.close()
    raise TypeError("the coroutine waits for an event loop, but runs without one")


class _OrdinaryTx:
    """Runs the statements of the hot paths through SQLAlchemy, which knows their errors."""

    def __init__(self, tx: Connection) -> None:
        self.postgresql = tx.dialect.name == "postgresql"
        self.signals: set[str] = set()
        self.learned: dict[int, int] = {}
        self.known: Mapping[int, int] = {}
        self._tx = tx

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        if not self.postgresql:
            return self._rows(sql.replace("$", "?"), args)
        return self._rows(
            _psycopg_sql(sql),
            {f"p{number}": _psycopg_value(arg) for number, arg in enumerate(args, 1)},
        )

    async def each(self, sql: str, sets: Sequence[Sequence[Any]]) -> list[Any]:
        return [row for values in sets for row in self._rows(sql, tuple(values))]

    def _rows(self, sql: str, given: dict[str, Any] | tuple[Any, ...]) -> list[Any]:
        result = self._tx.exec_driver_sql(sql, given)
        if not result.returns_rows:
            return []
        return [[_row_value(value) for value in row] for row in result]


@lru_cache(maxsize=256)
def _psycopg_sql(sql: str) -> str:
    """Returns the statement with `%(p1)s` for `$1`."""
    return _PLACE.sub(r"%(p\1)s", as_text(sql).replace("%", "%%"))


def _psycopg_value(value: Any) -> Any:
    if isinstance(value, list):
        return literal(value)
    return list(value) if isinstance(value, tuple) else value  # an array of long texts


def _row_value(value: Any) -> Any:
    return value.hex if isinstance(value, UUID) else value
