"""`heliograph` that begins with everything imported is what `subprocess` makes: it has its own
arguments, environment, directory and streams, and it is a child of who has started it.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.support import warm
from tests.support.crash.processes import ServerProcess
from tests.support.warm import siblings


@pytest.mark.parametrize(
    ("words", "status"), [(["--version"], 0), (["account", "nothing"], 2), (["account", "list"], 1)]
)
def test_it_says_and_ends_as_one_that_imports_itself(
    tmp_path: Path, words: list[str], status: int
) -> None:
    env = {**os.environ, "HELIOGRAPH_DATA_DIR": str(tmp_path / "nowhere")}
    cold = subprocess.run(
        [warm.HELIOGRAPH, *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    forked = warm.run(words, timeout=60, cwd=tmp_path, env=env)
    assert (forked.returncode, forked.stdout, forked.stderr) == (status, cold.stdout, cold.stderr)


def test_it_is_a_child_that_signals_reach(tmp_path: Path) -> None:
    with warm.start(
        ["smsc", "--port", "0", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["port"]
        seen = psutil.Process(process.pid)
        assert (seen.ppid(), seen.cwd()) == (os.getpid(), str(tmp_path))
        process.kill()
        assert process.wait(30) == -signal.SIGKILL


def test_what_it_spawns_are_forks_too_and_children_of_its_own(
    postgresql_url: str, redis_url: str, tmp_path: Path
) -> None:
    api = ServerProcess(postgresql_url, tmp_path, ["api", "--workers", "2"], REDIS_URL=redis_url)
    api.wait_for_event("serving", 30, times=2)
    first, second = api.answering()
    assert {first.ppid(), second.ppid()} == {api.process.pid}
    assert {first.name(), second.name()} == {siblings.NAME}, "they are not forks"
    listening = {file.laddr for file in first.net_connections() if file.status == "LISTEN"}
    assert len(listening) == 1, "the socket of its parent, and nothing else"
    first.kill()
    assert api.end() == 0


def test_what_the_loader_is_told_is_heard(tmp_path: Path) -> None:
    """So, for one, a clock that is faked is not that of the process which has imported."""
    env = {**os.environ, "PYTHONVERBOSE": "1"}
    assert "import" in warm.run(["--version"], timeout=60, env=env).stderr


def test_an_orphan_of_somebody_else_is_not_adopted() -> None:
    warm.run(["--version"], timeout=60)
    shell = subprocess.run(
        ["sh", "-c", "sleep 0.3 & echo $!"], stdout=subprocess.PIPE, text=True, check=True
    )
    orphan = int(shell.stdout)
    until_s = time.monotonic() + 30
    while psutil.pid_exists(orphan):
        assert psutil.Process(orphan).ppid() != os.getpid()
        assert time.monotonic() < until_s
        time.sleep(0.05)
