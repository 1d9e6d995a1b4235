"""Nothing is skipped in silence: in CI, a test that could not run is a failure (the hooks are in
tests/conftest.py).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import trials
from tests.support.sources import ROOT

FILES = {
    "test_marked.py": "import pytest\n\n@pytest.mark.skip(reason='no wish')\ndef test_one(): ...\n",
    "test_running.py": "import pytest\n\ndef test_one(): pytest.skip('no server')\n",
    "test_collected.py": "import pytest\n\npytest.importorskip('no_such_module')\n",
    # this one did run
    "test_expected.py": (
        "import pytest\n\n@pytest.mark.xfail(strict=True)\ndef test_one(): assert False\n"
    ),
}


@pytest.mark.parametrize(
    ("ci", "summary"), [("true", "1 failed, 1 xfailed, 2 errors"), ("", "3 skipped, 1 xfailed")]
)
def test_skipped_tests_fail_in_ci_and_only_there(ci: str, summary: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        str(tmp_path),
    ]
    # these files are no part of the tests that run now, be they the first or the trials
    whole = {name: value for name, value in os.environ.items() if name != trials.PART}
    done = subprocess.run(
        command, cwd=ROOT, env={**whole, "CI": ci}, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].startswith(summary), done.stdout
    assert done.returncode == (pytest.ExitCode.TESTS_FAILED if ci else pytest.ExitCode.OK)
