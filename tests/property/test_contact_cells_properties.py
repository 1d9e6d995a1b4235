"""Nothing in the cells of a file of contacts is run, whichever separator a spreadsheet takes them
apart by, and they come back as they were.
"""

import csv
import re

from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.base.csv.cells import line_of, neutralize, without_neutralizing

CELL = st.text(
    st.sampled_from("ab,;\t\r\n'\" =+-@＝\u200c\u200d") | st.characters(exclude_categories=["Cs"])
)
RUNS = re.compile('[ "\u200c\u200d]*[=+@＝-]')  # an apostrophe before it makes it a text


@given(st.lists(CELL, min_size=2), st.sampled_from(",;\t"), st.sampled_from(",;\t"))
@example(["a", "b;=1"], ",", ";")
@example(["a", 'b;"=1'], ",", ";")
@example(["a", "b;\u200c=1"], ",", ";")
def test_a_line_is_read_back_and_no_part_of_it_is_a_formula(
    cells: list[str], delimiter: str, other: str
) -> None:
    line = line_of(map(neutralize, cells), delimiter)
    assert [
        without_neutralizing(cell)
        for cell in next(csv.reader([line], delimiter=delimiter, strict=True))
    ] == cells
    assert not [piece for piece in re.split(f"[{other}\r\n]", line) if RUNS.match(piece)]
