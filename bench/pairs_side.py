"""One side of a comparison measures the cases that it is asked for, with the service and the bench
of the checkout it is started in. `bench.pairs` starts one in each checkout.

A line on standard input is the name of a case. The line that answers is JSON: the readings, as
`{figure: value}`, or `{"error": why}`. This file is given to Python by its path, and it imports
only what the bench of older commits has too.
"""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import plan
from bench.databases import Databases, SqliteDatabases, postgres_databases
from bench.reading import Conditions, Reading


def main(seconds: float) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a case prints is no answer
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-pairs-")))
        databases: list[Databases] = [
            stack.enter_context(postgres_databases(folder)),
            SqliteDatabases(folder),
        ]
        conditions = Conditions(
            folder, seconds, warm_up_s=1.0, limit_s=1.0, fill_s=max(1.0, seconds / 2)
        )
        cases = {case.name: case for case in plan.cases(conditions, databases, plan.GROUPS)}
        print(
            json.dumps({"cases": {case.name: case.group for case in cases.values()}}), file=answers
        )
        for line in sys.stdin:
            said: dict[str, Any]
            try:
                taken = cases[line.strip()].take()
                clean = [reading for reading in taken if not reading.errors]
                said = {name: value for reading in clean for name, value in _figures(reading)}
                if not said:
                    said["error"] = str([reading.errors for reading in taken])
            except plan.CASE_FAILS_WITH as error:
                said = {"error": str(error)}
            print(json.dumps(said), file=answers)


def _figures(reading: Reading) -> Iterator[tuple[str, float]]:
    """Yields a reading's own figure; and what it comes to for a second of a processor, where the
    bench has counted those. What others use of the machine meanwhile hardly changes that.
    """
    yield reading.figure, reading.value
    detail = reading.detail
    if "cores" in detail:
        yield f"{reading.figure} by processor", reading.value / detail["cores"]
    elif "cpu_s" in detail:
        done = detail["delivered"] if "delivered" in detail else reading.value * detail["seconds"]
        yield f"{reading.figure} by processor", done / detail["cpu_s"]


if __name__ == "__main__":
    main(float(sys.argv[1]))
