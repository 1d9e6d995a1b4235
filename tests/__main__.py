"""`python -m tests` runs the tests of each change, six beside each other; then, if only a few
failed, it runs those once more, alone. Its exit status is 1 when one fails alone. `python -m tests
trials` runs the others, three beside each other (`tests/support/trials.py` says which those are).

Their PostgreSQL server keeps its files in memory where it can (`server_in_memory`): else what the
tests beside each other wait for is its disk.

Many tests start processes, kill them, and judge by the clock how long something took. Beside five
others, on two cores, a moment comes in which the machine stands still for longer than such a test
allows. Alone, a defect is still one. Which tests needed the second time is printed last.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support import collected, dealing, prepared, trials
from tests.support.services import postgres

# of what is dealt to a process at once: if failures are in more, it is not the machine. Of 7,755
# tests 8 were seen when all took 29 minutes instead of 11, because others had a part of the
# processors; and 23 when it stood still for 5 s, but 20 of them had one fixture that failed.
SECOND_TIME_MAX: Final = 15
PROCESSES: Final = 6
# of the trials: most of them measure, or need both processors
TRIAL_PROCESSES: Final = 3
# of a test; the longest, which installs a machine, takes two minutes alone. See pyproject.toml for
# that of the others.
TRIAL_HANGS_AFTER_S: Final = 1_200
FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED: Final = 1  # pytest's exit status


def main() -> int:
    os.environ[trials.PART] = trials.TRIALS if sys.argv[1:] == [trials.TRIALS] else trials.FIRST
    FAILED.unlink(missing_ok=True)
    compile_from_the_end()
    with postgres.server_in_memory() as url:
        if url is not None:
            os.environ[postgres.NAMED] = url
        with prepared.beside(postgres.find_server()) as preparing:
            return run_all(preparing)


def run_all(preparing: "subprocess.Popen[str]") -> int:
    """Runs the part that is asked for. Returns the exit status."""
    with collected.python("tests") as python:
        prepared.wait_until_there(preparing)
        is_trials = os.environ[trials.PART] == trials.TRIALS
        beside = TRIAL_PROCESSES if is_trials else PROCESSES
        patience = ("-o", f"faulthandler_timeout={TRIAL_HANGS_AFTER_S}") if is_trials else ()
        processes = f"{beside}*popen//python={python}"
        status = pytest(*dealing.ARGUMENTS, "--tx", processes, "--durations=15", *patience)
    failed = failures() if status == TESTS_FAILED else []
    if not failed or len(set(map(dealing.unit_of, failed))) > SECOND_TIME_MAX:
        return status
    print(f"\nOnce more, alone: {', '.join(failed)}", flush=True)
    status = pytest(*failed)
    again = failures() if status else []
    for test in failed:
        print(
            f"Failed beside others, and {'again' if status and test in again else 'passed'} alone:"
            f" {test}",
            flush=True,
        )
    return status


def compile_from_the_end() -> None:
    """Compiles the tests of a fresh checkout, beside the process that collects them: that process
    begins with the first folder, this one with the last, and each goes on with what the other has
    compiled.
    """
    if any(Path("tests").glob("*/__pycache__/*-pytest-*")):
        return
    folders = sorted((str(path) for path in Path("tests").iterdir() if path.is_dir()), reverse=True)
    subprocess.Popen(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *folders],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def failures() -> list[str]:
    """Returns which tests failed in the last run."""
    return sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []


def pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
