"""`python -m tests.faults` runs all rows of the matrix, then prints the matrix. Its exit status is
1 when a row has no result, or has not held.
"""

import os
import subprocess
import sys

from tests.support.faults import matrix

PATIENCE_S = 3_600  # with a test that hangs: long forms take their time


def main() -> int:
    matrix.MEASURED.parent.mkdir(exist_ok=True)
    matrix.MEASURED.unlink(missing_ok=True)
    env = {
        "HELIOGRAPH_TEST_FAULTS": "long",
        **os.environ,
        "HELIOGRAPH_TEST_FAULTS_RESULTS": str(matrix.MEASURED.absolute()),
    }
    patience = f"faulthandler_timeout={PATIENCE_S}"
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", patience, "tests/faults", *sys.argv[1:]],
        env=env,
        check=False,
    )
    results = matrix.read(matrix.MEASURED)
    print(f"\n{matrix.table(results)}\n")
    wrong = matrix.missing(results)
    print(
        "\n".join(wrong) or "All rows hold.", f"The same for programs: {matrix.MEASURED}", sep="\n"
    )
    return 1 if wrong or tests.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
