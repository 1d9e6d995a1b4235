"""`python -m bench` measures, prints tables and writes JSON. Its exit status is 1 when something
failed or was not measured, whatever the aims.
"""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from bench import plan, report
from bench.databases import Databases, SqliteDatabases, postgres_databases
from bench.figures import DATABASES
from bench.processes import REPOSITORY
from bench.reading import Conditions

DESCRIPTION = (
    "How fast Heliograph is, beside the raw limits of this machine and Kannel's disk queue."
)
ROUNDS = 3
RESULTS = REPOSITORY / "bench" / "results"


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=DESCRIPTION)
    groups = ", ".join(plan.GROUPS)
    parser.add_argument(
        "--only",
        default=",".join(plan.GROUPS),
        metavar="A,B",
        help=f"of {groups}, each with its limits; default: all",
    )
    parser.add_argument("--database", choices=DATABASES, help="default: both")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="of each load run, after warming up; default: 5"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help=f"how often everything is measured; default: {ROUNDS}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one round of 2 s: does it work, and roughly how fast"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="default: bench/results/TIME.json"
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.seconds = 1, 2.0
    options.groups = options.only.split(",")
    if unknown := sorted(set(options.groups) - set(plan.GROUPS)):
        parser.error(f"--only: {unknown[0]!r} is none of {groups}")
    if options.seconds < 1 or options.rounds < 1:
        parser.error("--seconds and --rounds: 1 or more")
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    # so that everything that was started is stopped, as it is by Ctrl-C
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-bench-")))
        databases: list[Databases] = []
        versions = {}
        if options.database != "sqlite":
            postgres = stack.enter_context(postgres_databases(folder))
            databases.append(postgres)
            versions["postgresql"] = postgres.version
        if options.database != "postgresql":
            databases.append(SqliteDatabases(folder))
        conditions = Conditions(
            folder,
            options.seconds,
            warm_up_s=1.0,
            limit_s=min(2.0, options.seconds),
            fill_s=max(1.0, options.seconds / 2),
        )
        results = plan.take_all(
            plan.cases(conditions, databases, options.groups), options.rounds, _say
        )
    print(report.tables(results))
    chosen = {
        "only": options.groups,
        "database": options.database or "both",
        "seconds": options.seconds,
        "rounds": options.rounds,
    }
    path = options.json or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report.document(results, versions, chosen), indent=1) + "\n")
    print(f"Took {time.monotonic() - began:.0f} s. As JSON: {path}")
    return 0 if report.clean(results) else 1


def _say(line: str) -> None:
    """Prints the progress, so that nobody wonders for minutes."""
    print(line[: shutil.get_terminal_size((200, 24)).columns], file=sys.stderr, flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
