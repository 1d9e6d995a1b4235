"""Runs a real `heliograph serve` on a copy of the set-up database, and asks afterwards what that
database says.
"""

import secrets
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from bench import setup
from bench.databases import Databases, Installation
from bench.processes import (
    cpu_seconds,
    free_port,
    peak_resident_mib,
    resident_mib,
    started,
    wait_for_200,
)
from bench.reading import Conditions

HELIOGRAPH = str(Path(sys.executable).with_name("heliograph"))
READY_WITHIN_S = 30.0
SECRET_KEY = secrets.token_hex(32)  # of all servers of this run: databases are copied

_MESSAGE_COUNTS = """
    SELECT count(*) AS stored, count(*) FILTER (WHERE status = 'delivered') AS delivered,
        count(*) FILTER (WHERE status = 'failed') AS failed,
        max(delivered_at_ms) AS last_delivered_at_ms FROM messages"""


@dataclass(frozen=True, slots=True)
class Serving:
    """A serving is a server that answers."""

    pid: int
    port: int
    ready_s: float  # from the start of the process to the first 200 of /readyz

    def resident_mib(self) -> float:
        return resident_mib(self.pid)

    def peak_resident_mib(self) -> float:
        return peak_resident_mib(self.pid)

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """Tells what became of the messages."""

    stored: int
    delivered: int
    failed: int
    last_delivered_at_s: float


@contextmanager
def set_up(conditions: Conditions, databases: Databases) -> Iterator[Installation]:
    """Yields an installation with everything that a case needs. Its carrier points where nothing
    listens, so that messages stay queued.
    """

    def fill(installation: Installation) -> None:
        setup.fill(
            installation,
            count=conditions.accounts,
            window=conditions.carrier_window,
            port=free_port(),
            secret_key=SECRET_KEY,
        )

    with databases.new(fill) as installation:
        setup.point_carrier(installation, free_port(), SECRET_KEY)
        yield installation


@contextmanager
def serving(installation: Installation, *command: str, redis_url: str = "") -> Iterator[Serving]:
    """Runs `heliograph serve`, or another command that listens. It is stopped by SIGTERM on
    leaving.
    """
    port, log = free_port(), installation.data_dir / "serve.log"
    began = time.monotonic()
    with started(
        [HELIOGRAPH, *(command or ("serve",)), "--port", str(port)],
        log,
        env=environment(installation, redis_url),
    ) as child:
        wait_for_200(child, port, "/readyz", READY_WITHIN_S, log)
        yield Serving(child.pid, port, time.monotonic() - began)


@contextmanager
def sending(installation: Installation, processes: int, *command: str) -> Iterator[list[int]]:
    """Runs so many `heliograph carrier run` for the installation's carrier, or so many of another
    command. Yields their process ids.
    """
    with ExitStack() as running:
        yield [
            running.enter_context(
                started(
                    [HELIOGRAPH, *(command or ("carrier", "run", setup.CARRIER))],
                    installation.data_dir / f"sending-{number}.log",
                    env=environment(installation),
                )
            ).pid
            for number in range(processes)
        ]


def environment(installation: Installation, redis_url: str = "") -> dict[str, str]:
    return {
        "HELIOGRAPH_DATA_DIR": str(installation.data_dir),
        "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
        "DATABASE_URL": installation.url if installation.kind == "postgresql" else "",
        "REDIS_URL": redis_url,
        "HELIOGRAPH_DRAIN_S": "0",  # nobody asks for it any more when it is stopped
        "HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK": "true",
        "PYTHONDONTWRITEBYTECODE": "",  # an installed program starts from compiled code
    }


def count_messages(installation: Installation) -> MessageCounts:
    """Counts the messages of an installation."""
    row = one_row(installation, _MESSAGE_COUNTS)
    return MessageCounts(
        stored=row["stored"],
        delivered=row["delivered"],
        failed=row["failed"],
        last_delivered_at_s=(row["last_delivered_at_ms"] or 0) / 1_000,
    )


def one_row(installation: Installation, query: str) -> dict[str, Any]:
    """Returns what the database of an installation says when it is asked from outside: the values
    of one row, by the names of their columns.
    """
    if installation.kind == "postgresql":
        with psycopg.connect(installation.url, row_factory=dict_row) as postgres:
            row = postgres.execute(query.encode()).fetchone()
    else:
        with closing(sqlite3.connect(installation.url.removeprefix("sqlite:///"))) as sqlite:
            sqlite.row_factory = sqlite3.Row
            row = sqlite.execute(query).fetchone()
    assert row is not None
    return dict(row)


def scalar(installation: Installation, query: str) -> Any:
    """Returns the value of a query that finds one row of one column."""
    [value] = one_row(installation, query).values()
    return value
