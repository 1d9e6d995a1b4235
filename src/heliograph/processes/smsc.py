"""`heliograph smsc` runs the SMSC until it is told to stop, and says what it counted."""

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from heliograph.base import open_files
from heliograph.carriers.smsc import Chaos, Journal, Smsc, SmscSettings

Say = Callable[[dict[str, Any]], None]


class NotRun(Exception):
    """The SMSC could not start, or not go on. The message says why."""


@dataclass(frozen=True, slots=True)
class SmscRun:
    """Holds the options of a run of the SMSC. `chaos` was made with `seed`."""

    host: str
    port: int
    settings: SmscSettings
    chaos: Chaos
    seed: int
    log: Path | None
    stats_s: float | None  # how often the counts are said while it runs


def run(options: SmscRun, say: Say) -> None:
    """Serves until SIGTERM or SIGINT. `say` gets the address first, then counts. Raises NotRun."""
    open_files.raise_limit()
    try:
        journal = Journal(options.log)
    except BlockingIOError as error:
        raise NotRun(
            f"{options.log} is being written by another process. Name another file with --log."
        ) from error
    except OSError as error:
        raise NotRun(f"{options.log} cannot be written: {error.strerror}.") from error
    with journal:
        uvloop.run(_serve(options, journal, say))
        if journal.failure is not None:
            raise NotRun(f"{options.log} cannot be written any more: {journal.failure.strerror}.")


async def _serve(options: SmscRun, journal: Journal, say: Say) -> None:
    stop = asyncio.Event()
    journal.on_failure = stop.set
    smsc = Smsc(options.settings, options.chaos, journal)
    try:
        port = await smsc.start(options.host, options.port, seed=options.seed)
    except OSError as error:
        raise NotRun(
            f"Cannot listen on {options.host} port {options.port}: {error.strerror}. Name another"
            " with --host or --port."
        ) from error
    loop = asyncio.get_running_loop()
    for end in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(end, stop.set)
    say({"host": options.host, "port": port, "seed": options.seed})
    while not stop.is_set():
        try:
            async with asyncio.timeout(options.stats_s):
                await stop.wait()
        except TimeoutError:
            say(_counts(smsc))
    await smsc.stop()
    say(_counts(smsc))


def _counts(smsc: Smsc) -> dict[str, Any]:
    return {
        "sessions": smsc.session_count,
        "receipts_owed": smsc.receipts_owed,
        "texts_owed": smsc.texts_owed,
        "counts": dict(sorted(smsc.journal.counts.items())),
    }


def as_line(report: dict[str, Any], *, as_json: bool) -> str:
    """Returns a line for a program or for people."""
    if as_json:
        return json.dumps(report)
    if "port" in report:
        return (
            f"SMPP 3.4 on {report['host']} port {report['port']}, any client that you point here;"
            f" chaos by --seed {report['seed']}. Ctrl-C ends it."
        )
    counts = (
        ", ".join(f"{kind} {count}" for kind, count in report["counts"].items()) or "nothing came"
    )
    texts = f", texts owed {report['texts_owed']}" if report["texts_owed"] else ""
    return (
        f"{counts}; sessions {report['sessions']}, receipts owed {report['receipts_owed']}{texts}"
    )
