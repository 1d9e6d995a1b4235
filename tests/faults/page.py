"""`python -m tests.faults.page`: writes the matrix that `make faults` measured last into docs/reliability.md."""

import sys
from pathlib import Path

from tests.faults import matrix

PAGE = Path("docs/reliability.md")
BEGIN, END = "<!-- matrix: written by python -m tests.faults.page -->\n", "<!-- end of matrix -->\n"


def main() -> None:
    results = matrix.read(matrix.MEASURED)
    if not results:
        sys.exit(f"There is no {matrix.MEASURED}: make faults measures.")
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} has no place for the matrix: {BEGIN}{END}")
    PAGE.write_text(f"{before}{BEGIN}\n{matrix.table(results)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
