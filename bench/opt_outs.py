"""`python -m bench.opt_outs` says how fast sends are accepted among 1,000,000 opt-outs, as a share
of how fast they are accepted without any.

Two servers have the same accounts, and one of them has the opt-outs: half are of one account, and
the others are spread. Nobody who is texted is among them, so that both do the same. They are
measured by turns, the one that begins changes from round to round, and what counts is the ratio of
each pair.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from bench import load, ours, setup, traffic
from bench.databases import Databases, Installation, both_databases
from bench.processes import NotMeasured
from bench.reading import Conditions
from bench.server import serving, set_up
from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.opt_outs.tables import OptOutSource, suppressions

OPT_OUTS: Final = 1_000_000
FIRST_PHONE: Final = 233_240_000_000  # texts go to phones that begin with 23320
ROWS_AT_ONCE: Final = 20_000
WHOLE_ACCOUNT: Final = ""  # the sender of an opt-out that holds for all senders

# Accepts for so many seconds, and returns how many sends a second, and for a second of a processor.
Measure = Callable[[], tuple[float, float]]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.opt_outs", description=__doc__)
    parser.add_argument("--database", choices=("postgresql", "sqlite"), help="default: both")
    parser.add_argument("--opt-outs", type=int, default=OPT_OUTS, help=f"default: {OPT_OUTS:,}")
    parser.add_argument("--rounds", type=int, default=5, help="pairs; default: 5")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a load run; default: 4")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-bench-")))
        conditions = Conditions(folder, options.seconds, 1.0, 1.0, options.seconds / 2)
        for databases in both_databases(stack, folder):
            if options.database in (None, databases.kind):
                measure_pairs(conditions, databases, options.opt_outs, options.rounds)
    return 0


def measure_pairs(conditions: Conditions, databases: Databases, opt_outs: int, rounds: int) -> None:
    """Prints each pair, and what they come to."""
    with ExitStack() as stack:
        without = _server(stack, conditions, databases, 0)
        among = _server(stack, conditions, databases, opt_outs)
        by_clock, by_processor = [], []
        for number in range(rounds):
            order = (without, among) if number % 2 == 0 else (among, without)
            taken = {measure: measure() for measure in order}
            (one, one_cpu), (many, many_cpu) = taken[without], taken[among]
            by_clock.append(many / one)
            by_processor.append(many_cpu / one_cpu)
            print(f"round {number + 1}  {databases.kind}: {one:,.0f} to {many:,.0f}", flush=True)
    for name, ratios in (("by the clock", by_clock), ("by processor", by_processor)):
        print(
            f"accept on {databases.kind} among {opt_outs:,} opt-outs, {name}:"
            f" {statistics.median(ratios):.3f} of what it is without"
            f" ({min(ratios):.3f} .. {max(ratios):.3f})",
            flush=True,
        )


def _server(
    stack: ExitStack, conditions: Conditions, databases: Databases, opt_outs: int
) -> Measure:
    """Starts a server among so many opt-outs, warms it up, and returns how it is measured."""
    installation = stack.enter_context(set_up(conditions, databases))
    if opt_outs:
        _fill(installation, opt_outs)
    server = stack.enter_context(serving(installation))
    sends = traffic.single_sends(installation.data_dir, server.port, setup.keys_file(installation))
    load.run(sends, conditions.connections, conditions.seconds)

    def measure() -> tuple[float, float]:
        seen, detail = ours.measured(server, sends, conditions.connections, conditions.seconds)
        if seen.errors:
            raise NotMeasured(f"sends failed: {seen.errors}")
        return seen.per_s, seen.per_s / detail["cores"]

    return measure


def _fill(installation: Installation, opt_outs: int) -> None:
    database = Database(installation.url)
    try:
        with database.read() as tx:
            of_all = list(tx.execute(sa.select(accounts.c.id)).scalars())
        now_ms = clock.now_ms()
        for first in range(0, opt_outs, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, opt_outs)
            rows = [
                {
                    "account_id": of_all[0 if number % 2 else number % len(of_all)],
                    "sandbox": False,
                    "phone": FIRST_PHONE + number,
                    "sender": WHOLE_ACCOUNT,
                    "id": ids.raw_of_number(ids.new_number(now_ms)),
                    "source": OptOutSource.API,
                }
                for number in range(first, last)
            ]
            with database.write() as tx:
                tx.execute(sa.insert(suppressions), rows)
    finally:
        database.close()
    _settle(installation)


def _settle(installation: Installation) -> None:
    """Lets the database do now what it would do beside the first rounds: what was made at once is
    cleaned up, counted, and written to its files.
    """
    url = installation.url.replace("postgresql:", "postgresql+psycopg:")
    plain = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    is_server = plain.dialect.name == "postgresql"
    with plain.connect() as connection:
        for statement in ("VACUUM ANALYZE", "CHECKPOINT") if is_server else ("ANALYZE",):
            connection.execute(sa.text(statement))
    plain.dispose()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
