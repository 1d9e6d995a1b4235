"""Measures the raw limits of this machine in these minutes: what each part could reach at most if
ours cost nothing.
"""

import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from bench import load, traffic
from bench.control import ask
from bench.databases import PostgresDatabases
from bench.processes import NotMeasured, answers_of, free_port, helper, started, wait_for_port
from bench.reading import Conditions, Reading, together

BATCH_ROWS = 10_000
READY_WITHIN_S = 15.0
SMPP_WINDOW = 100
GRACE_S = 15.0
EVENT_OCTETS = 700  # as long as the event of a message

# As wide as a message and indexed as one is, without what makes it ours.
_TABLE = """
    CREATE TABLE row_limit (
        id {uuid} PRIMARY KEY, send_id {uuid} NOT NULL, account_id {uuid} NOT NULL,
        recipient bigint NOT NULL, carrier_id smallint NOT NULL, status varchar(9) NOT NULL,
        segments smallint NOT NULL, credits integer NOT NULL)"""
_INDEX = "CREATE INDEX row_limit_by_recipient ON row_limit (account_id, recipient)"
_UNNEST = """
    INSERT INTO row_limit SELECT id, %s, %s, recipient, 1, 'queued', 1, 1
    FROM unnest(%s::uuid[], %s::bigint[]) AS new (id, recipient)"""
_SQLITE_INSERT = "INSERT INTO row_limit VALUES (?, ?, ?, ?, 1, 'queued', 1, 1)"
_TINY = "INSERT INTO tiny (value) VALUES (1)"


def uvicorn(conditions: Conditions) -> list[Reading]:
    """Measures bare uvicorn (httptools, uvloop) with the requests that ours gets. It answers them
    without reading them, and with their JSON decoded.
    """
    with tempfile.TemporaryDirectory(dir=conditions.folder) as name:
        folder, port = Path(name), free_port()
        log = folder / "uvicorn.log"
        options = [
            "--port",
            str(port),
            "--loop",
            "uvloop",
            "--http",
            "httptools",
            "--lifespan",
            "off",
            "--no-access-log",
            "--log-level",
            "warning",
        ]
        with started([sys.executable, "-m", "uvicorn", "bench.bare:app", *options], log) as server:
            wait_for_port(server, port, READY_WITHIN_S, log)
            readings = []
            for figure, path in (("limit.uvicorn", "/bare"), ("limit.json", "/json")):
                posts = traffic.bare_posts(folder, port, path)
                load.run(posts, conditions.connections, conditions.warm_up_s)
                seen = load.run(posts, conditions.connections, conditions.limit_s)
                readings.append(Reading(figure, seen.per_s, seen.errors))
            return readings


def postgresql(conditions: Conditions, databases: PostgresDatabases) -> list[Reading]:
    """Measures one connection: rows by `unnest`, 10,000 a commit; and the smallest transaction
    there is, one after another.
    """
    with databases.empty() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TABLE.format(uuid="uuid"))
        connection.execute(_INDEX)
        connection.execute("CREATE TABLE tiny (value integer NOT NULL)")

        def insert_batch() -> None:
            send, account, ids, recipients = _batch()
            connection.execute(_UNNEST, (send, account, ids, recipients))

        rows_per_s = _repeated(insert_batch, conditions.limit_s) * BATCH_ROWS
        commits_per_s = _repeated(lambda: connection.execute(_TINY), conditions.limit_s / 2)
        return [
            Reading("limit.unnest", rows_per_s),
            Reading("limit.postgresql_commits", commits_per_s),
        ]


def sqlite(conditions: Conditions) -> list[Reading]:
    """Measures the same on SQLite as it is durable: with a write-ahead log, and every commit
    fsynced (synchronous = FULL).
    """
    with tempfile.TemporaryDirectory(dir=conditions.folder) as folder:
        connection = sqlite3.connect(Path(folder) / "limit.db", isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE.format(uuid="text"))
            connection.execute(_INDEX)
            connection.execute("CREATE TABLE tiny (value integer NOT NULL)")

            def insert_batch() -> None:
                send, account, ids, recipients = _batch()
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(
                    _SQLITE_INSERT,
                    [(key, send, account, to) for key, to in zip(ids, recipients, strict=True)],
                )
                connection.execute("COMMIT")

            rows_per_s = _repeated(insert_batch, conditions.limit_s) * BATCH_ROWS
            commits_per_s = _repeated(lambda: connection.execute(_TINY), conditions.limit_s / 2)
        finally:
            connection.close()
        return [
            Reading("limit.sqlite_rows", rows_per_s),
            Reading("limit.sqlite_commits", commits_per_s),
        ]


def smpp(conditions: Conditions) -> list[Reading]:
    """Measures the load client against the SMSC, with one bind and a window of 100: how many
    submit_sm are answered a second, and how many receipts come a second with receipts.
    """
    readings = []
    for figure, option in (("limit.smpp", []), ("limit.smpp_receipts", ["--receipts"])):
        with helper("bench.smsc", *option, log=conditions.folder / "smsc.log") as smsc:
            settings = [
                "--port",
                smsc["port"],
                "--window",
                SMPP_WINDOW,
                "--seconds",
                conditions.limit_s,
                *option,
            ]
            seen = answers_of(
                "bench.smpp_load", *map(str, settings), within_s=conditions.limit_s + GRACE_S
            )
            counted = ask(smsc["control_port"])["receipts_sent" if option else "submitted"]
            if counted < seen["per_s"] * seen["seconds"]:
                raise NotMeasured(f"the load client counted {seen} and the SMSC {counted}")
            readings.append(
                Reading(figure, seen["per_s"], together({"refused": int(seen["refused"])}))
            )
    return readings


def aiohttp(conditions: Conditions) -> list[Reading]:
    """Measures bare aiohttp, which posts one signed request again and again, 64 side by side, to
    the receiver that ours goes to.
    """
    with helper("bench.sink", "--posts", log=conditions.folder / "sink.log") as sink:
        settings = [
            "--port",
            sink["port"],
            "--seconds",
            conditions.limit_s,
            "--octets",
            EVENT_OCTETS,
        ]
        seen = answers_of(
            "bench.post_load", *map(str, settings), within_s=conditions.limit_s + GRACE_S
        )
        return [
            Reading(
                "limit.aiohttp",
                seen["ok"] / seen["seconds"],
                together({"other answers": int(seen["other"])}),
            )
        ]


def _batch() -> tuple[str, str, list[str], list[int]]:
    """Returns ids in rising order, as UUIDv7 are, and recipients, for one batch of rows of one send
    of one account.
    """
    first = time.time_ns() << 64
    ids = [f"{first + k:032x}" for k in range(BATCH_ROWS)]
    return (
        ids[0],
        f"{secrets.randbelow(1_000):032x}",
        ids,
        [233_200_000_000 + secrets.randbits(23) for _ in range(BATCH_ROWS)],
    )


def _repeated(act: Callable[[], object], seconds: float) -> float:
    """Returns how many times a second `act` can be done."""
    act()
    began, times = time.perf_counter(), 0
    while (took := time.perf_counter() - began) < seconds:
        act()
        times += 1
    return times / took
