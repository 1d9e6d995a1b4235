"""Lists the rows of the fault matrix, and what tests have shown of each."""

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

# a file to append to; empty: results are kept nowhere
RESULTS: Final = os.environ.get("HELIOGRAPH_TEST_FAULTS_RESULTS", "")
# by `make faults`, last time: a line of JSON for each result
MEASURED: Final = Path("build/faults.jsonl")
LONG: Final = os.environ.get("HELIOGRAPH_TEST_FAULTS", "quick") == "long"

WINDOW: Final = "≤ window"
NUMBER_CELL: Final = 1  # of a line of the table, as "|" parts it
DATABASE_CELL: Final = 4


class Row(NamedTuple):
    """Describes a fault, and what it may cost."""

    number: int | str  # a letter for cases of their own
    fault: str
    must_hold: str
    repeated: str
    databases: tuple[str, ...] = ("sqlite", "postgresql")


_BOTH: Final = ("sqlite", "postgresql")
_SEVERAL: Final = ("postgresql",)  # several processes need it

ROWS: Final = (
    Row(
        1,
        "API process killed at any point of a request",
        "no 200 without its rows; a retry with the same key replays",
        "0",
    ),
    Row(2, "worker killed before submitting", "picked up again within 45 s", "0", _SEVERAL),
    Row(
        3,
        "carrier process killed after submit, before its answer is stored",
        "in doubt, charged once",
        WINDOW,
    ),
    Row(
        4,
        "carrier process stopped 90 s, then continued",
        "others go on; its stale writes are refused",
        WINDOW,
        _SEVERAL,
    ),
    Row(
        "4a",
        "database silent, its connections open",
        "binds closed 20 s after the last beat; ends within 30 s",
        WINDOW,
        _SEVERAL,
    ),
    Row(
        5,
        "two carrier processes on one carrier",
        "each message once; together within the rate",
        "0",
        _SEVERAL,
    ),
    Row(
        6,
        "SIGTERM under load, rolling restart",
        "0 failed requests, window emptied, unbind sent",
        "0",
        _SEVERAL,
    ),
    Row(
        7,
        "PostgreSQL killed and restarted",
        "503 within 2 s, recovery within 10 s",
        WINDOW,
        _SEVERAL,
    ),
    Row(8, "reply to COMMIT lost", "run again with the same ids", "0", _SEVERAL),
    Row(9, "serialization failure, deadlock", "retried, at most 5 times", "0", _SEVERAL),
    Row(10, "disk full", "503, no 200; goes on when there is space", "0"),
    Row(
        11,
        "Redis gone or flushed",
        "no effect on money or messages; the limiter counts in the process",
        "0",
        _SEVERAL,
    ),
    Row(12, "clock moved an hour", "no early expiry, no burst of retries", "0"),
    Row(
        13, "SMSC down 30 min", "backoff 1 to 60 s with jitter, validity kept, nothing dropped", "0"
    ),
    Row(14, "SMSC answers in 30 s", "the window holds; other carriers unaffected", "0"),
    Row("14a", "window 10, answers after 50 ms", "the window is used, and never exceeded", "0"),
    Row(
        15,
        "ESME_RTHROTTLED or RMSGQFUL on half of all",
        "slows down; nothing dropped or charged twice",
        "0",
    ),
    Row(16, "connection reset with a full window", "in doubt, charged once", WINDOW),
    Row(17, "half-open connection", "found by enquire_link within 40 s", WINDOW),
    Row(18, "answer after our timeout", "adopts the attempt", "≤ 1 each"),
    Row(19, "receipt before submit_sm_resp", "unmatched, then matched", "0"),
    Row(20, "one receipt 1,000 times", "1 change, 1 event", "0"),
    Row(21, "DELIVRD, then ACCEPTD", "the terminal state sticks", "0"),
    Row(22, "part 2 of 3 fails", "failed, never delivered first", "0"),
    Row(
        23,
        "malformed PDUs: length 0, 15, 2^31; bad TLV; unknown command",
        "nack or close; memory flat; other binds unaffected",
        "0",
    ),
    Row(24, "wrong password, already bound", "slow retry, visible to the operator", "0"),
    Row(
        25,
        "webhook receiver: 500, hang, drip, 1 GiB, gzip bomb, redirect, bad TLS",
        "15 s, 64 KiB, no redirect; others not delayed",
        "0",
    ),
    Row(
        26,
        "webhook worker killed after POST",
        "delivered again within 45 s, with the same id",
        WINDOW,
    ),
    Row(
        27,
        "campaign killed half way",
        "goes on; each recipient once, credits and statistics exact, its end told once",
        WINDOW,
    ),
    Row(28, "50 connections ask /readyz without a pause", "0 × 503 for anybody else", "0"),
    Row(
        29,
        "trailer fields after a chunked body, by strangers",
        "they are no headers: no key, no address for `/metrics`",
        "0",
    ),
    Row(
        30,
        "headers, URL, trailers or requests without end",
        "431 or 414, closed; memory flat, others answered",
        "0",
    ),
    Row(
        31,
        "1,300 idle connections at `ulimit -n 1024`",
        "closed in their time or for others; nobody is kept out",
        "0",
    ),
    Row(
        32,
        "1 MiB of nested arrays, or of whatever costs the most",
        "no request holds the event loop for 20 ms",
        "0",
    ),
    Row(
        33,
        "webhook receivers that mean harm: endless answers, heads, 100s, chunks, trailers,"
        " tickets …",
        "others' p99 at most twice their own, no 503, memory flat",
        "0",
    ),
    Row(
        34,
        "a key fills the disk, and so does a carrier",
        "429 at the quota; of receipts that match nothing the newest are kept",
        "0",
    ),
    Row(
        35,
        "one-time passwords pumped into 200 ranges of eight countries",
        "stopped at the floors; who verifies is refused nothing",
        "0",
    ),
    Row(
        37,
        "network cut for more than 20 s",
        "binds closed; every process begins anew, none hangs",
        WINDOW,
        _SEVERAL,
    ),
    Row(
        38,
        "synchronous_commit=off on the server, which is killed",
        "accepted means stored all the same",
        WINDOW,
        _SEVERAL,
    ),
    Row(
        39,
        "synchronous standby lost",
        "503 within 2 s, /readyz too; no commit cancelled, one event a change",
        "0",
        _SEVERAL,
    ),
    Row(
        40,
        "a machine with a wrong clock, or a database",
        "refused, or stops; nothing expires early, the ledger in order",
        "0",
        _SEVERAL,
    ),
    Row(
        41,
        "database fails over: its host silent, killed or cut off; standby lost; old primary back",
        "a silent host costs 3 s; none lost",
        WINDOW,
        _SEVERAL,
    ),
    Row(
        42,
        "upgrade to the next version, its migration behind a long reader",
        "0 failed requests; nobody waits longer than a lock",
        "0",
        _SEVERAL,
    ),
    Row(
        43,
        "restored from a backup",
        "nothing of the copy goes out before an operator says so; events keep their ids",
        "0",
    ),
    Row(
        44,
        "process killed between storing a text that came in and answering it",
        "stored once; the carrier sends it again",
        "0",
    ),
    Row(
        45,
        "database away while texts come in",
        "none answered before it is stored; none lost or twice",
        "0",
        _SEVERAL,
    ),
    Row(
        46,
        "a flood of texts from handsets beside slow sending",
        "the window is used; no text lost or twice",
        "0",
    ),
)


class Result(NamedTuple):
    """Describes one test of a row, as it ended. What it has `seen` is a deployment.Seen, or nothing
    when it failed before.
    """

    row: int | str
    database: str
    test: str
    held: bool
    seconds: float
    seen: dict[str, Any]


def quick_or_long(quick: float, long: float) -> float:
    """Returns how long, or how many: `make test` has a few seconds for a row, `make faults` has
    minutes.
    """
    return long if LONG else quick


def add(result: Result) -> None:
    """Keeps it, if there is a file for it."""
    if RESULTS:
        with Path(RESULTS).open("a") as file:
            file.write(json.dumps(result._asdict(), ensure_ascii=False) + "\n")


def read(file: Path) -> list[Result]:
    return (
        [Result(**json.loads(line)) for line in file.read_text().splitlines()]
        if file.exists()
        else []
    )


def missing(results: list[Result]) -> list[str]:
    """Returns what the matrix lacks, or has not held: a line for each."""
    wrong = []
    for row in ROWS:
        for database in row.databases:
            of_row = [
                result
                for result in results
                if (result.row, result.database) == (row.number, database)
            ]
            if not of_row:
                wrong.append(f"row {row.number} on {database}: no result")
            wrong += [
                f"row {row.number} on {database}: {result.test} failed"
                for result in of_row
                if not result.held
            ]
    return wrong


def table(results: list[Result], standing: str = "") -> str:
    """Returns all rows as a table of Markdown. A row without a result keeps the lines that
    it has in `standing`, an earlier table.
    """
    kept = _lines_by_row(standing)
    lines = [
        (
            "| # | fault | must hold | on | messages | lost | repeated | allowed | recovered | how"
            " it was measured |"
        ),
        "|" + "---|" * 10,
    ]
    for row in ROWS:
        for database in row.databases:
            of_row = [
                result
                for result in results
                if (result.row, result.database) == (row.number, database)
            ]
            lines += (
                [_line(row, database, result) for result in of_row]
                or kept.get((str(row.number), database))
                or [_line(row, database, None)]
            )
    return "\n".join(lines)


def _lines_by_row(standing: str) -> dict[tuple[str, str], list[str]]:
    """Returns the lines of an earlier table by number and database."""
    lines: dict[tuple[str, str], list[str]] = {}
    for line in standing.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > DATABASE_CELL:
            lines.setdefault((cells[NUMBER_CELL], cells[DATABASE_CELL]), []).append(line)
    return lines


def _line(row: Row, database: str, result: Result | None) -> str:
    seen = result.seen if result is not None else {}
    if result is None or not result.held or not seen:
        said = [
            "–",
            "–",
            "–",
            row.repeated,
            "–",
            "**missing**" if result is None else f"**failed**: {result.test}",
        ]
    else:
        recovered_s = seen["recovered_s"]
        said = [
            f"{seen['messages']:,}",
            str(seen["lost"]),
            str(seen["repeated"]),
            row.repeated,
            "–" if recovered_s is None else f"{recovered_s:.1f} s",
            seen["how"],
        ]
    return (
        f"| {row.number} | {row.fault} | {row.must_hold} | {database} | " + " | ".join(said) + " |"
    )
