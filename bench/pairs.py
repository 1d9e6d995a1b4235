"""`python -m bench.pairs COMMIT` measures how fast this checkout is, as a share of how fast COMMIT
was.

Machines drift by a third within an hour, and two measurements that follow each other hardly do. So
each case is measured by turns in both, the one that begins changes from round to round, and what
counts is the ratio of each pair. COMMIT is laid beside this checkout, in build/pairs, and installed
there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from bench.processes import REPOSITORY

GROUPS: Final = "accept,bulk,drain,webhooks"
# The load client's own limits and Kannel are the same on both sides.
OURS: Final = "ours: "
SIDE: Final = Path(__file__).with_name("pairs_side.py")
NOTHING_TO_MEASURE: Final = 2  # exit status

Readings = dict[str, float]  # the name of a figure → its value


class SideFailed(Exception):
    """One of the two sides could not measure a case."""


class Side:
    """A side is a process that measures in one of the two checkouts."""

    def __init__(self, checkout: Path, seconds: float) -> None:
        self._process = start_side(checkout, SIDE, str(seconds))
        self.groups_of_cases: dict[str, str] = self._answer()["cases"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def measure(self, case: str) -> Readings:
        """Measures one case. Raises `SideFailed`."""
        assert self._process.stdin
        print(case, file=self._process.stdin, flush=True)
        readings: dict[str, Any] = self._answer()
        if "error" in readings:
            raise SideFailed(f"{case}: {readings['error']}")
        return readings

    def _answer(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    groups = options.only.split(",")
    ratios: dict[str, list[float]] = defaultdict(list)
    failed = 0
    with ExitStack() as stack:
        before = stack.enter_context(Side(checkout_of(options.commit), options.seconds))
        now = stack.enter_context(Side(REPOSITORY, options.seconds))
        cases = [
            case
            for case, group in now.groups_of_cases.items()
            if group in groups
            and case.startswith(OURS)
            and case in before.groups_of_cases
            and options.cases in case
        ]
        if not cases:
            print(f"No case of {options.only} has {options.cases!r} in its name.", file=sys.stderr)
            return NOTHING_TO_MEASURE
        for number in range(options.rounds):
            order = (before, now) if number % 2 == 0 else (now, before)
            for case in cases:
                try:
                    taken = {side: side.measure(case) for side in order}
                except SideFailed as error:
                    failed += 1
                    print(f"round {number + 1}  NOT MEASURED: {error}", flush=True)
                    continue
                for figure in taken[now].keys() & taken[before].keys():
                    was, is_now = taken[before][figure], taken[now][figure]
                    ratios[figure].append(is_now / was)
                    print(f"round {number + 1}  {figure}: {was:,.5g} to {is_now:,.5g}", flush=True)
    print(f"\n{'figure':44} pairs  lowest  median  highest, of {options.commit}'s")
    for figure, of_figure in sorted(ratios.items()):
        median = statistics.median(of_figure)
        print(
            f"{figure:44} {len(of_figure):5} {min(of_figure):7.3f} {median:7.3f}"
            f" {max(of_figure):7.3f}"
        )
    return 1 if failed else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pairs", description=__doc__)
    parser.add_argument("commit", help="what to compare with, such as HEAD~1")
    parser.add_argument("--only", default=GROUPS, metavar="A,B", help=f"default: {GROUPS}")
    parser.add_argument(
        "--cases", metavar="TEXT", default="", help="only cases whose names contain it"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="of a load run; default: 4")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each case; default: 5")
    return parser.parse_args(arguments)


def start_side(checkout: Path, script: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts a script that measures with the service and the bench of a checkout. It is asked on
    its standard input.
    """
    return subprocess.Popen(
        # -P: the checkout's own bench is imported, and not the one beside this file
        [checkout / ".venv/bin/python", "-P", script, *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def checkout_of(commit: str) -> Path:
    """Lays COMMIT in a work tree of its own, and installs it there."""
    name = subprocess.run(
        ["git", "rev-parse", "--short", f"{commit}^{{commit}}"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    folder = REPOSITORY / "build" / "pairs" / name
    if not folder.exists():
        subprocess.run(
            ["git", "worktree", "add", "--force", "--detach", folder, name],
            cwd=REPOSITORY,
            check=True,
        )
    subprocess.run(["make", "--no-print-directory", "install"], cwd=folder, check=True)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
