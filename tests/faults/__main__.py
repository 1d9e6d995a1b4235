"""`python -m tests.faults`: all rows of the matrix, then the matrix; exit status 1 when a row has no result, or has not held."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.faults import matrix

RESULTS = Path("build/faults.jsonl")
MATRIX = Path("build/faults.json")


def main() -> int:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.unlink(missing_ok=True)
    env = {"HELIOGRAPH_TEST_FAULTS": "long", **os.environ, "HELIOGRAPH_TEST_FAULTS_RESULTS": str(RESULTS.absolute())}
    tests = subprocess.run([sys.executable, "-m", "pytest", "tests/faults", *sys.argv[1:]], env=env, check=False)
    results = matrix.read(RESULTS)
    MATRIX.write_text(json.dumps([result._asdict() for result in results], ensure_ascii=False, indent=2) + "\n")
    print(f"\n{matrix.table(results)}\n")
    wrong = matrix.missing(results)
    print("\n".join(wrong) or "All rows hold.", f"The same for programs: {MATRIX}", sep="\n")
    return 1 if wrong or tests.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
