"""`python -m tests.faults.page` writes what `make faults` measured last into the matrix of
docs/reliability.md.

Rows that were not measured, because only some tests were run, keep the lines that they have.
"""

import sys
from pathlib import Path

from tests.support.faults import matrix

PAGE = Path("docs/reliability.md")
BEGIN, END = "<!-- matrix: written by python -m tests.faults.page -->\n", "<!-- end of matrix -->\n"


def main() -> None:
    results = matrix.read(matrix.MEASURED)
    if not results:
        sys.exit(f"There is no {matrix.MEASURED}: make faults measures.")
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    standing, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} has no place for the matrix: {BEGIN}{END}")
    PAGE.write_text(f"{before}{BEGIN}\n{matrix.table(results, standing)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
