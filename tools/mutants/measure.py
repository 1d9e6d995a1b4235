"""Runs tests against mutants, in a copy of the tree. The checkout itself is never changed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

from tools.mutants.mutate import Mutant

ROOT: Final = Path(__file__).parents[2]
WITHIN_S: Final = 60.0  # for the tests of one mutant; one that makes them hang is killed by this
PASSED, FAILED, TOO_LONG = "passed", "failed", "too long"


class Copy:
    """Holds a copy of the checkout's files. Tests import its package, not the installed one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in _files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
        self._environment = os.environ | {
            "PYTHONPATH": str(root / "src"),
            # hypothesis then tries the same examples each time, and does not make failures small
            "CI": "true",
        }
        self._check_package()

    def source(self, path: str) -> str:
        return (self.root / path).read_text("utf-8")

    def run(self, tests: Iterable[str], *, write_bytecode: bool = False) -> str:
        """Runs tests on SQLite up to the first failure. Returns PASSED, FAILED or TOO_LONG."""
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
                *("-k", "not postgresql", f"--basetemp={self.root / 'temporary'}", *tests),
            ],
            cwd=self.root,
            env=self._environment | ({} if write_bytecode else {"PYTHONDONTWRITEBYTECODE": "1"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            return TOO_LONG
        finally:
            with suppress(ProcessLookupError):  # with all that the tests have started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return FAILED if status else PASSED

    def run_with(self, mutant: Mutant, tests: Iterable[str]) -> str:
        """Runs tests against a mutant, and takes it back."""
        path = self.root / mutant.path
        original = path.read_text("utf-8")
        # two mutants of one second and one size would have the same bytecode
        Path(cache_from_source(path)).unlink(missing_ok=True)
        path.write_text(mutant.source, "utf-8")
        try:
            return self.run(tests)
        finally:
            path.write_text(original, "utf-8")

    def _check_package(self) -> None:
        found = subprocess.run(
            [sys.executable, "-c", "import heliograph; print(heliograph.__file__)"],
            cwd=self.root,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        if not Path(found).is_relative_to(self.root):
            raise RuntimeError(f"the tests would import {found}, which is not the copy")


def _files() -> list[str]:
    """Returns the files of the checkout that git knows, or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
