"""Processes that run tests are forks of one that has collected them (tests/support/collected)."""

import shlex
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.support import collected, trials

TESTS = "tests/unit/base/test_paging.py"
MODULE = "tests.unit.base.test_paging"
SAYS = """
import os, sys
from tests.support.sources import sources
print(sys.stdin.readline().strip(), %r in sys.modules, sources.cache_info().currsize, os.getpid())
"""


@pytest.fixture(scope="module")
def python() -> Iterator[str]:
    # TESTS are no trials, and all of them are run here
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv(trials.PART, raising=False)
        with collected.python(TESTS) as words:
            yield words


def test_it_has_the_tests_and_the_sources_and_streams_of_its_own(
    python: str,
) -> None:
    said = [
        subprocess.run(
            [*shlex.split(python), "-u", "-c", SAYS % MODULE],
            input=f"{k}\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout.split()
        for k in ("first", "second")
    ]
    assert [words[:3] for words in said] == [["first", "True", "2"], ["second", "True", "2"]]
    assert said[0][3] != said[1][3]


def test_xdist_runs_tests_in_it(python: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", TESTS),
            *("--dist", "load", "--tx", f"2*popen//python={python}"),
        ],
        cwd=collected.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"[gw0]", "[gw1]"} <= set(done.stdout.split())


def test_no_fork_outlives_the_run() -> None:
    with collected.python(TESTS) as words:
        stand_in = subprocess.Popen(
            [*shlex.split(words), "-u", "-c", "import os; print(os.getpid()); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert stand_in.stdout is not None
        fork = psutil.Process(int(stand_in.stdout.readline()))
    assert not fork.is_running()
    with stand_in:
        assert stand_in.wait(60) == 0
