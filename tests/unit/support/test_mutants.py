"""`make mutants` makes certain mutants, and chooses some of them."""

import pytest

from tools.mutants.measure import ROOT
from tools.mutants.mutate import Mutant, mutants_of, sample
from tools.mutants.rows import ROWS


@pytest.mark.parametrize(
    ("statement", "faults"),
    [
        ("if a < b: pass", ["if not a < b:", "if a <= b:"]),
        ("if a == b: pass", ["if a != b:"]),
        ("if not a: pass", ["if a:"]),
        ("x = 'yes' if a else 'no'", ["x = 'yes' if not a else 'no'"]),
        ("x = [a for a in y if a]", ["x = [a for a in y if not a]"]),
        ("assert a and b", ["assert a or b"]),
        ("x = a - b", ["x = a + b"]),
        ("x += 7", ["x -= 7", "x += 8"]),
        ("x = min(a, b)", ["x = max(a, b)"]),
        ("x: Literal[1] = True", []),
        ("while x: break", ["while not x:", "pass"]),
        ("def f(): return x", ["return None"]),
        ("def f(): return None", []),
    ],
)
def test_a_statement_has_these_faults(statement: str, faults: list[str]) -> None:
    mutants = mutants_of("a.py", statement)
    assert [mutant.after for mutant in mutants] == faults


def test_a_mutant_is_the_whole_file_with_one_fault_and_says_where() -> None:
    assert mutants_of("a.py", "x = y\n\nz = (\n    x is y  # the same\n)\n") == [
        Mutant("a.py", 4, "z = x is y", "z = x is not y", "x = y\nz = x is not y")
    ]


def test_the_choice_follows_the_code_and_not_its_place() -> None:
    code = [f"x{n} = {n}\n" for n in range(30)]
    mutants = mutants_of("a.py", "".join(code))
    chosen = sample(mutants, 5, seed=1)
    assert len(chosen) == 5
    assert chosen == sorted(chosen, key=lambda mutant: mutant.line)
    assert chosen != sample(mutants, 5, seed=2)
    moved = sample(mutants_of("b.py", "".join(reversed(code))), 5, seed=1)
    assert {mutant.after for mutant in moved} == {mutant.after for mutant in chosen}


def test_every_file_in_the_table_exists() -> None:
    paths = [path for row in ROWS.values() for path in (*row.sources, *row.tests)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []
