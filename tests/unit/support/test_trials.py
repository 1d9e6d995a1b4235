"""`make test` and `make trials` run every test between them, each on a database that decides."""

import os
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support import trials

ROOT = Path(__file__).parents[3]
# some of its tests are judged in Python, which PostgreSQL gets one value of at each change
MARKED = "tests/capability/wallet/test_ledger.py"
VALUES = (
    ["sqlite", "postgresql"],
    ["sqlite-a", "sqlite-b", "postgresql-a", "postgresql-b"],
    ["390-postgresql", "1440-sqlite"],
    ["390-sqlite", "1440-postgresql"],
)
files = st.sampled_from(
    ["api/test_{}", "browser/test_{}", "capability/portal/test_{}", "property/test_{}_machine"]
)
names = st.text("abcdefghij", min_size=1, max_size=5)


@given(files, names, st.sampled_from(VALUES))
def test_each_value_of_a_test_stays_on_one_database(
    folder: str, name: str, values: list[str]
) -> None:
    tests = [f"tests/{folder.format(name)}.py::test[{value}]" for value in values]
    later = trials.trials_of(tests)
    stay = set(tests) - later
    assert len(stay) == len(later) == len(tests) / 2
    assert len({re.search("sqlite|postgresql", test.partition("[")[2])[0] for test in stay}) == 1  # type: ignore[index]


@given(files, names, st.sampled_from(["sqlite", "postgresql", "sqlite-a"]))
def test_what_runs_on_one_database_alone_stays(folder: str, name: str, value: str) -> None:
    file = f"tests/{folder.format(name)}.py"
    assert trials.trials_of([f"{file}::test[{value}]", f"{file}::test_plain"]) == set()


def test_what_is_declared_twice_stays_on_both() -> None:
    named = [name for name in trials.ON_BOTH if name not in ("tests/crash/", "tests/faults/")]
    tests = [
        f"{name.removesuffix('.py')}_x.py::test[{database}]"
        for name in named
        for database in trials.DATABASES
        if name.endswith(("/", "test_accept", "test_decide", "test_turn"))
    ]
    assert len(tests) == 8
    assert trials.trials_of(tests) == set()


def test_what_pages_do_with_texts_runs_on_sqlite_at_each_change() -> None:
    for file in trials.ON_SQLITE:
        tests = [f"{file}::test[{database}-a]" for database in trials.DATABASES]
        assert trials.trials_of(tests) == {f"{file}::test[postgresql-a]"}


def test_what_is_named_is_there() -> None:
    for name in (*trials.ON_BOTH, *trials.ON_SQLITE, *trials.FIRST_FAULTS, *trials.LONG):
        file, _, test = name.partition("::")
        found = list(ROOT.glob(f"{file}*"))
        assert found, name
        assert not test or test.partition("[")[0] in (ROOT / file).read_text(), name


def test_the_two_parts_of_a_marked_file_are_all_of_it() -> None:
    first, later, every = (_collected(part) for part in (trials.FIRST, trials.TRIALS, None))
    assert first < every
    assert later == every - first


def _collected(part: str | None) -> set[str]:
    """Returns the ids of the tests of the marked file that run in a part, or in all of them."""
    environment = {name: value for name, value in os.environ.items() if name != trials.PART}
    if part is not None:
        environment[trials.PART] = part
    collected = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-p",
            "no:cacheprovider",
            "-n0",
            MARKED,
            "-o",
            "addopts=",
            "-q",
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in collected.stdout.splitlines() if line.startswith(f"{MARKED}::")}
