"""Holds what connections to SQLite and PostgreSQL have in common, with the settings that keep one
stuck process from holding up the others. Connections to PostgreSQL themselves are made in
`postgresql/engine.py` and `postgresql/pool.py`.
"""

import sqlite3
import threading
from collections import deque
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from heliograph.base import private_files

# how long a command beside a running server waits for its turn to write
SQLITE_BUSY_TIMEOUT_MS: Final = 5_000
# a stopped process must not hold up others (docs/architecture.md, "Transactions and locks")
POSTGRES_LOCK_TIMEOUT_MS: Final = 1_000
# Who waits for a row behind another waiter takes that one's place when it gives up, and its time
# begins anew. Twice this part of the limit is below the 2 s within which a client is answered.
HOT_LOCK_TIMEOUT_PART: Final = 0.8
POSTGRES_STATEMENT_TIMEOUT_MS: Final = 10_000
POSTGRES_IDLE_IN_TRANSACTION_MS: Final = 5_000
# which one is wanted is judged by `Hosts`, whatever PGTARGETSESSIONATTRS says
ANY_HOST: Final = "any"
CONNECT_TIMEOUT_S: Final = 1  # psycopg makes 2 of it, libpq's least
# a host that does not even acknowledge what it was sent for so long is gone, whatever it was asked
UNACKNOWLEDGED_MS: Final = 2_000
# A host of a silent connection is asked for a sign after KEEPALIVE_IDLE_S, then every
# KEEPALIVE_INTERVAL_S. After KEEPALIVE_COUNT questions without an answer it is gone.
KEEPALIVE_IDLE_S: Final = 5
KEEPALIVE_INTERVAL_S: Final = 1
KEEPALIVE_COUNT: Final = 2
# PostgreSQL finds within 11 s that nobody is at a connection's other end any more. By the kernel's
# own limits it takes hours: after a few cuts of the network, connections of processes that are long
# back would be all that it has.
KEEPALIVE: Final = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "11000",
}
# PostgreSQL answers a COMMIT when it is on its disk, and on that of its synchronous standby where
# it has one
DURABLE: Final = "on"
HOT_CONNECTIONS_MAX: Final = 6  # accept, large sends, and one turn for each of a few carriers
# eight threads of requests, and as many for what must never wait for them: the configuration,
# sweeps
SYNC_CONNECTIONS_MAX: Final = 16

_name = "heliograph"  # of all sessions of this process in PostgreSQL


def set_session_name(name: str) -> None:
    """Names the sessions that are opened from now on, for whoever looks at `pg_stat_activity`."""
    global _name
    _name = name


def session_name() -> str:
    """Returns the name that sessions are given now."""
    return _name


class FairLock:
    """Locks in order of arrival. With SQLite's busy timeout alone, writers would starve one
    another.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self) -> None:
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        gate.acquire()

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


def sqlite_path(url: str) -> Path:
    """Returns the file of a URL such as `sqlite:////var/lib/heliograph/heliograph.db`."""
    return Path(url.removeprefix("sqlite:///"))


def connect_sqlite(path: Path) -> sqlite3.Connection:
    """Opens a connection to the database in this file, which is made if needed."""
    private_files.make_file(path)
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        timeout=SQLITE_BUSY_TIMEOUT_MS / 1_000,
        cached_statements=512,
    )
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}",
        "temp_store = MEMORY",
        "cache_size = -16000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def sqlite_engine(path: Path) -> sa.Engine:
    """Makes an engine with a pool of connections to the SQLite file at `path`."""
    return sa.create_engine(
        "sqlite://",
        creator=lambda: connect_sqlite(path),
        poolclass=sa.QueuePool,
        pool_size=SYNC_CONNECTIONS_MAX,
        max_overflow=0,
        pool_timeout=5,
        hide_parameters=True,
    )
