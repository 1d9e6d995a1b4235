"""`python -m bench.looking` measures the speed that the API keeps while ten people look at the
portal.

Accepting is measured in one server, by turns with the ten and without. Draining is measured with a
server of its own each time: a queue is filled while the carrier is away, and then let go. Without
the ten means that they have come in and stand still. Which of the two comes first changes from
round to round, and what counts is the ratio of each pair.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from bench import load, ours, setup, traffic
from bench.databases import Databases, Installation, both_databases
from bench.processes import NotMeasured, free_port, helper, started, tail
from bench.reading import Conditions
from bench.server import HELIOGRAPH, SECRET_KEY, Serving, environment, serving, set_up

PEOPLE: Final = 10
SETTLES_S: Final = 1.0  # after people begin to look, or stop
FILLS: Final = 4  # so many load runs fill a queue: what drains in two seconds shows little


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.looking", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each; default: 5")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a load run; default: 4")
    parser.add_argument("--only", choices=("accept", "drain"), help="measure one of the two")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-bench-")))
        conditions = Conditions(folder, options.seconds, 1.0, 1.0, options.seconds / 2)
        for databases in both_databases(stack, folder):
            for what, measure in (("accept", _accept), ("drain", _drain)):
                if options.only in (None, what):
                    _say(
                        f"{what} on {databases.kind}",
                        measure(conditions, databases, options.rounds),
                    )
    return 0


def _say(what: str, ratios: list[float]) -> None:
    lowest, highest = min(ratios), max(ratios)
    print(
        f"{what}: {statistics.median(ratios):.3f} of what it is alone"
        f" ({lowest:.3f} to {highest:.3f}, {len(ratios)} pairs)",
        flush=True,
    )


def _accept(conditions: Conditions, databases: Databases, rounds: int) -> list[float]:
    with set_up(conditions, databases) as installation, serving(installation) as server:
        sends = traffic.single_sends(
            installation.data_dir, server.port, setup.keys_file(installation)
        )
        load.run(sends, conditions.connections, conditions.seconds)
        with _onlookers(installation, server) as people:

            def run(looked_at: bool) -> float:
                os.kill(people.pid, signal.SIGCONT if looked_at else signal.SIGSTOP)
                time.sleep(SETTLES_S)
                return load.run(sends, conditions.connections, conditions.seconds).per_s

            ratios = [_ratio(number, run) for number in range(rounds)]
            os.kill(people.pid, signal.SIGCONT)
            return ratios


def _drain(conditions: Conditions, databases: Databases, rounds: int) -> list[float]:
    def run(looked_at: bool) -> float:
        with set_up(conditions, databases) as installation:
            port = free_port()
            setup.point_carrier(installation, port, SECRET_KEY)
            with serving(installation) as server:
                sends = traffic.single_sends(
                    installation.data_dir, server.port, setup.keys_file(installation)
                )
                load.run(sends, conditions.connections, FILLS * conditions.seconds)
                with _onlookers(installation, server) as people:
                    if not looked_at:  # they have come in, too, and stand still
                        os.kill(people.pid, signal.SIGSTOP)
                    with helper(
                        *("bench.smsc", "--receipts", "--track", "--port", str(port)),
                        log=conditions.folder / "smsc.log",
                    ) as smsc:
                        per_s = ours.until_delivered(installation, smsc["control_port"]).per_s
                    os.kill(people.pid, signal.SIGCONT)
                    return per_s

    return [_ratio(number, run) for number in range(rounds)]


def _ratio(number: int, run: Callable[[bool], float]) -> float:
    order = (True, False) if number % 2 else (False, True)
    seen = {looked_at: run(looked_at) for looked_at in order}
    print(f"  alone {seen[False]:,.0f} a second, looked at {seen[True]:,.0f}", flush=True)
    return seen[True] / seen[False]


@contextmanager
def _onlookers(installation: Installation, server: Serving) -> Iterator[subprocess.Popen[str]]:
    """Runs the ten, from when all are signed in. Raises NotMeasured if a page is refused them."""
    links = installation.data_dir / "links.txt"
    links.write_text("\n".join(_link(installation, number) for number in range(PEOPLE)))
    log = installation.data_dir / "onlookers.log"
    command = [sys.executable, "-m", "bench.onlookers", "--port", str(server.port)]
    with started([*command, "--links", str(links)], log, pipe=True) as people:
        assert people.stdout is not None
        if not people.stdout.readline():
            raise NotMeasured(f"the onlookers could not begin: {tail(log)}")
        yield people
        people.terminate()
        said = json.loads(people.stdout.readline())
        print(
            f"  {said['pages']} pages, half of them within {said['median_ms']:.0f} ms", flush=True
        )
        if said["refused"]:
            raise NotMeasured(f"{said['refused']} pages were refused")


def _link(installation: Installation, number: int) -> str:
    command = [HELIOGRAPH, "user", "add", f"p{number}@example.com"]
    made = subprocess.run(
        [*command, "--account", f"bench {number}", "--role", "owner", "--json"],
        env={**os.environ, **environment(installation)},
        capture_output=True,
        text=True,
        check=True,
    )
    link: str = json.loads(made.stdout)["link"]
    return link


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
