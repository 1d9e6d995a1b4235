"""Sorts the errors of a database that cannot be used: which of them are worth another try, and what
a client is told. `run_again` is that other try.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import exc

from heliograph.base import cancelling
from heliograph.base.errors import ServiceError, Unavailable

SAID_MAX: Final = 400  # characters of what a database said
# of a transaction that met a deadlock, a serialization failure or a lock not got in time
CONFLICT_TRIES: Final = 5
READ_ONLY_SQLSTATE: Final = "25006"  # a standby, or a primary that may not be written to
# serialization failure, deadlock, lock not available
RETRIED_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03"})
# The codes and classes of SQLSTATE (PostgreSQL manual, appendix A) by which a host is lost: its
# connection fails, its server ends, or it cannot be written to.
LOST_SQLSTATES: Final = ("08", "57P", READ_ONLY_SQLSTATE)
# The classes that say nothing of the statement: connection, read-only after a fail-over, sign-in,
# no such database, resources (a full disk, too many connections), objects in another state, an
# operator, the system.
OUTAGE_CLASSES: Final = ("08", "25", "28", "3D", "53", "55", "57", "58", "XX")
# refused, reset, no such host, no answer in time
_UNREACHABLE: Final = (exc.InterfaceError, exc.TimeoutError, OSError)
_ASYNCPG_UNREACHABLE: Final = ("InterfaceError", "InternalClientError")
_TOLD_BY_DATABASE: Final = (exc.DBAPIError, sqlite3.OperationalError)

T = TypeVar("T")


class StaleRead(Exception):
    """Another transaction has stored meanwhile what this one went by; run again, it sees that."""


def is_conflict(error: BaseException) -> bool:
    """Returns True for what the same transaction, run again, may well not meet: a deadlock, a
    serialization failure, or a lock that was not got in time.
    """
    return isinstance(error, StaleRead) or _sqlstate(error) in RETRIED_SQLSTATES


async def run_again(
    transaction: Callable[[], Awaitable[T]], *, tries: int = CONFLICT_TRIES, rest_s: float = 0
) -> T:
    """Returns what a transaction returns. It is run again, whole, when it met what `is_conflict`
    names, up to `tries` times with a rest between them. Raises Unavailable when it met that each
    time.
    """
    for _ in range(tries):
        try:
            return await transaction()
        except Exception as error:
            cancelling.raise_if_cancelled(error)
            if not is_conflict(error):
                raise
        await asyncio.sleep(rest_s)
    raise Unavailable("The database is busy.")


def is_refusal(error: BaseException) -> bool:
    """Returns True when the values themselves are at fault, and would be each time: no column takes
    them, or a constraint forbids them (SQLSTATE classes 22 and 23, and what SQLite and the drivers
    raise for these).
    """
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return _sqlstate(error).startswith(("22", "23")) or isinstance(
        cause, sqlite3.IntegrityError | sqlite3.DataError | ValueError | OverflowError
    )


def is_lost(error: BaseException) -> bool:
    """Returns True when the host is gone, or is not the one to write to: another connection to it
    would not do either.
    """
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(cause, OSError) or _is_of_driver(cause, "asyncpg", *_ASYNCPG_UNREACHABLE):
        return True
    state = _sqlstate(error)
    return state.startswith(LOST_SQLSTATES) or (
        _is_of_driver(cause, "psycopg", "OperationalError") and not state
    )


def error_in_words(error: ServiceError) -> str:
    """Returns what `error` says, with what the database or the system said of it, on one line: for
    operators, and not for clients.
    """
    cause = error.__cause__.orig if isinstance(error.__cause__, exc.DBAPIError) else error.__cause__
    lines = [line.strip() for line in str(cause or "").splitlines()]
    # libpq asks that of every refusal
    detail = "; ".join(
        line for line in lines if line and not line.startswith("Is the server running")
    )
    return (
        f"{error.message.rstrip('.')}: {detail[:SAID_MAX].rstrip('.')}."
        if detail
        else error.message
    )


def _sqlstate(error: BaseException) -> str:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


@contextmanager
def unavailable_on_outage() -> Iterator[None]:
    """Turns "the database cannot be used right now" into Unavailable (503), and whatever a driver
    raises in a task that was told to end into CancelledError; every other error stays what it is.
    """
    try:
        yield
    except Exception as error:
        cancelling.raise_if_cancelled(error)
        if not _is_outage(error):
            raise
        raise Unavailable(
            "The database is busy." if _is_locked(error) else "The database is not reachable."
        ) from error


@contextmanager
def unavailable_on_outage_or_lock() -> Iterator[None]:
    """Does what `unavailable_on_outage()` does, for what only reads, and is not run again: a lock
    not got in time is Unavailable (503) as well.
    """
    with unavailable_on_outage():
        try:
            yield
        except exc.DBAPIError as error:
            if not is_conflict(error):
                raise
            raise Unavailable("The database is busy.") from error


def _is_locked(error: BaseException) -> bool:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY


def _is_of_driver(error: BaseException | None, driver: str, *kinds: str) -> bool:
    """Says whether this is an error of one of these classes of a driver of PostgreSQL. A process
    on SQLite does not load the drivers, and meets no errors of theirs.
    """
    module = sys.modules.get(driver)
    return module is not None and isinstance(error, tuple(getattr(module, kind) for kind in kinds))


def _is_outage(error: BaseException) -> bool:
    if isinstance(error, _UNREACHABLE) or _is_of_driver(error, "asyncpg", *_ASYNCPG_UNREACHABLE):
        return True
    is_told_by_database = isinstance(error, _TOLD_BY_DATABASE) or _is_of_driver(
        error, "asyncpg", "PostgresError"
    )
    if not is_told_by_database or is_conflict(error):
        return False
    return isinstance(error, exc.OperationalError | sqlite3.OperationalError) or _sqlstate(
        error
    ).startswith(OUTAGE_CLASSES)
