"""What a currency is, is judged before any database is looked for."""

import subprocess
import sys
from pathlib import Path

import pytest

HELIOGRAPH = Path(sys.executable).with_name("heliograph")


@pytest.mark.parametrize("command", [["price", "remove", "zz"], ["price", "set", "zz", "3", "--per", "1"]], ids=["remove", "set"])
def test_a_currency_that_does_not_exist_is_a_mistake_in_the_command_line(command: list[str], tmp_path: Path) -> None:
    ended = subprocess.run([HELIOGRAPH, *command, "--data-dir", tmp_path], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("heliograph: CURRENCY must be a currency of ISO 4217")
    assert list(tmp_path.iterdir()) == []
