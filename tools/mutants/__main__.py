"""Says how many mutants of the files in `rows.py` their tests kill: `python -m tools.mutants`.

It prints each survivor, and a table at the end. The exit status is 0 when everything was measured,
whatever came out, and 1 when the tests of a row fail, or take too long, without a mutant.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants.measure import PASSED, TOO_LONG, Copy
from tools.mutants.mutate import mutants_of, sample
from tools.mutants.rows import ROWS, Row


def main() -> int:
    asked = _arguments()
    table, failed = [], []
    with TemporaryDirectory(prefix="heliograph-mutants-") as folder:
        copy = Copy(Path(folder).resolve())
        for name in asked.rows or ROWS:
            print(f"\n{name}: {', '.join(ROWS[name].sources)}", flush=True)
            killed = _measure(copy, ROWS[name], asked.mutants, asked.seed)
            if killed is None:
                failed.append(name)
            else:
                table.append((name, *killed))
    print(f"\nSeed {asked.seed}\n")
    print("| file | mutants | killed | of them by time |\n|---|---|---|---|")
    for row in table:
        print("|", " | ".join(map(str, row)), "|")
    if failed:
        print(
            f"\nNot measured, because the tests do not pass without a mutant: {', '.join(failed)}"
        )
    return int(bool(failed))


def _measure(copy: Copy, row: Row, at_most: int, seed: int) -> tuple[int, int, int] | None:
    """Returns how many mutants there were, how many of them were killed, and how many of those by
    the time limit. None when the tests do not pass without a mutant.
    """
    began_s = time.monotonic()
    result = copy.run(row.tests, write_bytecode=True)
    if result != PASSED:
        print(f"  the tests without a mutant: {result}", flush=True)
        return None
    print(f"  {time.monotonic() - began_s:.0f} s without a mutant", flush=True)
    every = [mutant for path in row.sources for mutant in mutants_of(path, copy.source(path))]
    mutants = sample(every, at_most, seed)
    results = []
    for mutant in mutants:
        result = copy.run_with(mutant, row.tests)
        results.append(result)
        if result == PASSED:
            print(f"  survived: {mutant.path}:{mutant.line}", flush=True)
            print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
    survived, by_time = results.count(PASSED), results.count(TOO_LONG)
    print(f"  {len(every)} mutants, {len(mutants)} measured, {survived} survived", flush=True)
    return len(mutants), len(mutants) - survived, by_time


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"one of: {', '.join(ROWS)}")
    parser.add_argument("--mutants", type=int, default=20, metavar="N", help="most of each row")
    parser.add_argument("--seed", type=int, default=18, help="decides which mutants are chosen")
    asked = parser.parse_args()
    if unknown := set(asked.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
