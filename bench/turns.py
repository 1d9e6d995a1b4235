"""`python -m bench.turns COMMIT` measures how fast this checkout accepts messages, as a share of
how fast COMMIT did.

`bench.pairs` starts a server for each measurement, so the two of a pair are ten seconds apart. Some
machines change their speed by half in that time. Here both servers run, and take load by turns, a
second each. Who begins changes from pair to pair. The many pairs say within which limits the ratio
lies: a ratio of 0.97 can be told from 1.0.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from bench.pairs import checkout_of, start_side
from bench.processes import REPOSITORY

SIDE: Final = Path(__file__).with_name("turns_side.py")
GROUPS: Final = ("accept", "bulk")
KINDS: Final = ("postgresql", "sqlite")
SURE: Final = 1.96  # standard errors on either side: where the ratio lies in 19 of 20 runs


class TurnNotMeasured(Exception):
    """A server did not answer everything that it was sent."""


class ServingSide:
    """A serving side is a process that keeps a server of one of the two checkouts."""

    def __init__(self, checkout: Path, kind: str, group: str) -> None:
        self._process: subprocess.Popen[str] = start_side(checkout, SIDE, kind, group)
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def measure(self, seconds: float) -> float:
        """Puts load on the server for so many seconds. Returns how many messages it accepted in a
        second. Raises `TurnNotMeasured`.
        """
        assert self._process.stdin
        print(seconds, file=self._process.stdin, flush=True)
        seen = self._answer()
        if seen["errors"]:
            raise TurnNotMeasured(str(seen["errors"]))
        per_s: float = seen["per_s"]
        return per_s

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise TurnNotMeasured("one of the two sides has ended; see above")
        return json.loads(line)


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    kinds = options.database.split(",")
    checkout = checkout_of(options.commit)
    failed = False
    for group in options.only.split(","):
        for kind in kinds:
            try:
                ratios = _measure(checkout, kind, group, options.pairs, options.seconds)
            except TurnNotMeasured as error:
                failed = True
                print(f"{group} on {kind}: NOT MEASURED: {error}", file=sys.stderr)
            else:
                print(f"{group} on {kind}: {_in_words(ratios)}", flush=True)
    return 1 if failed else 0


def _measure(checkout: Path, kind: str, group: str, pairs: int, seconds: float) -> list[float]:
    """Returns the ratio of each pair: this checkout's messages a second to those of the other."""
    ratios = []
    with ExitStack() as stack:
        before = stack.enter_context(ServingSide(checkout, kind, group))
        now = stack.enter_context(ServingSide(REPOSITORY, kind, group))
        for number in range(pairs):
            order = (before, now) if number % 2 == 0 else (now, before)
            taken = {side: side.measure(seconds) for side in order}
            ratios.append(taken[now] / taken[before])
    return ratios


def _in_words(ratios: list[float]) -> str:
    logarithms = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logarithms)
    around = SURE * statistics.stdev(logarithms) / math.sqrt(len(ratios))
    return (
        f"{math.exp(mean):.3f} of what it was ({math.exp(mean - around):.3f} to"
        f" {math.exp(mean + around):.3f}), median {statistics.median(ratios):.3f},"
        f" {len(ratios)} pairs"
    )


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description=__doc__)
    parser.add_argument("commit", help="what to compare with, such as HEAD~1")
    parser.add_argument("--only", default="accept", help=f"of {','.join(GROUPS)}; default: accept")
    parser.add_argument("--database", default=",".join(KINDS), help="default: both")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a turn; default: 1")
    parser.add_argument("--pairs", type=int, default=60, help="default: 60")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
