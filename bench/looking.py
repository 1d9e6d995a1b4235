"""`python -m bench.looking` measures the speed that the API keeps while ten people look at the
portal.

Accepting is measured in one server, by turns with the ten and without. So is draining: a queue is
filled while the carrier is away, and then let go. Without the ten means that they have come in and
stand still. Which of the two comes first changes from round to round, and what counts is the ratio
of each pair.
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

from bench import load, setup, traffic
from bench.control import ask
from bench.databases import Databases, Installation, both_databases
from bench.processes import NotMeasured, free_port, helper, started, tail
from bench.reading import Conditions
from bench.server import (
    HELIOGRAPH,
    SECRET_KEY,
    Serving,
    count_messages,
    environment,
    serving,
    set_up,
)

PEOPLE: Final = 10
SETTLES_S: Final = 1.0  # after people begin to look, or stop
TURN_S: Final = 3.0  # of draining
BOUND_WITHIN_S: Final = 120.0  # a carrier that has been away for long is tried ever more seldom
FILLS: Final = 4.0  # so many times as long as a turn lasts fills a queue for two of them


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
    """Measures turns of one queue. The speed of a whole queue differs twofold from one server to
    the next, whoever looks; that of neighbouring turns differs by a tenth.
    """
    with set_up(conditions, databases) as installation:
        port = free_port()
        setup.point_carrier(installation, port, SECRET_KEY)
        with serving(installation) as server, _onlookers(installation, server) as people:
            os.kill(people.pid, signal.SIGSTOP)
            sends = traffic.single_sends(
                installation.data_dir, server.port, setup.keys_file(installation)
            )
            load.run(sends, conditions.connections, FILLS * rounds * (SETTLES_S + TURN_S))
            with helper(
                *("bench.smsc", "--receipts", "--track", "--port", str(port)),
                log=conditions.folder / "smsc.log",
            ) as smsc:
                _wait_for_receipts(smsc["control_port"])

                def run(looked_at: bool) -> float:
                    os.kill(people.pid, signal.SIGCONT if looked_at else signal.SIGSTOP)
                    time.sleep(SETTLES_S)
                    return _delivered_per_s(smsc["control_port"])

                ratios = [_ratio(number, run) for number in range(rounds)]
                _require_a_queue(installation, smsc["control_port"])
                os.kill(people.pid, signal.SIGCONT)
                return ratios


def _wait_for_receipts(control_port: int) -> None:
    """Waits until the queue drains. Raises NotMeasured if it does not begin to."""
    deadline = time.monotonic() + BOUND_WITHIN_S
    while not ask(control_port)["receipts_answered"]:
        if time.monotonic() > deadline:
            raise NotMeasured(f"no message was delivered within {BOUND_WITHIN_S:g} s")
        time.sleep(SETTLES_S)
    time.sleep(TURN_S)  # until all connections are bound


def _delivered_per_s(control_port: int) -> float:
    """Returns how many receipts a second were answered within a turn from now on."""
    before, began_s = ask(control_port)["receipts_answered"], time.monotonic()
    time.sleep(TURN_S)
    after, ended_s = ask(control_port)["receipts_answered"], time.monotonic()
    return float((after - before) / (ended_s - began_s))


def _require_a_queue(installation: Installation, control_port: int) -> None:
    """Raises NotMeasured if the queue was empty before the last turn was over."""
    stored = count_messages(installation).stored
    delivered = ask(control_port)["receipts_answered"]
    if delivered >= stored:
        raise NotMeasured(f"all {stored:,} messages were delivered before the last turn was over")


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
