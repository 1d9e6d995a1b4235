"""`heliograph` that scripts find in PATH is to them what the installed program is: it has the same
output, streams and exit status, signals reach it, and it is gone when it is killed.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.support import warm
from tests.support.factories import SECRET_KEY
from tests.support.polling import wait_until
from tests.support.services import free_port

WITHIN_S = 60
SMSC = ["smsc", "--port", "0", "--json"]
FORK = "tests.support.warm.starter"


@pytest.fixture(autouse=True)
def _signals_are_heard() -> Iterator[None]:
    """Lets signals be heard. A run behind `nohup` or `&` ignores two of them, and so would all that
    it starts.
    """
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, hangup)
    signal.signal(signal.SIGINT, interrupt)


def shell(commands: str, directory: Path, program: Path | None = None) -> tuple[int, str, str]:
    """Runs these commands with `heliograph` as a fork, or as this program. Returns the status, and
    what they printed.
    """
    environment = warm.on_path({**os.environ, "HELIOGRAPH_DATA_DIR": "data"})
    if program is not None:
        environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", commands],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def begun(
    words: list[str], directory: Path, before: Callable[[], object] | None = None, /, **env: str
) -> Iterator["subprocess.Popen[str]"]:
    """Yields the program that a script starts in this way. `before` is done in it first."""
    with subprocess.Popen(
        ["sh", "-c", 'exec heliograph "$@"', "-", *words],
        cwd=directory,
        env=warm.on_path({**os.environ, **env}),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def smsc(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Yields a simulator that runs."""
    with begun(SMSC, tmp_path) as process:
        port_of(process)
        yield process


def port_of(smsc: "subprocess.Popen[str]") -> int:
    """Returns the port of a simulator, once it answers there."""
    assert smsc.stdout is not None
    return int(json.loads(smsc.stdout.readline())["port"])


def forks_in(directory: Path) -> list[psutil.Process]:
    """Returns the processes that work in this directory, and are forks."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if FORK in process.cmdline() and process.cwd() == str(directory):
                found.append(process)
    return found


@pytest.mark.parametrize(
    "commands",
    [
        "heliograph --version",
        "heliograph account nothing",
        "heliograph ''; heliograph 'a b' '*' '$HOME' é",
        "mkdir -p deep/down; cd deep/down; heliograph account list",  # it names the directory
        "HELIOGRAPH_LOG_LEVEL=loud heliograph account list",
        "umask 027; HELIOGRAPH_DATA_DIR=deep/data heliograph migrate; stat -c %a deep deep/data/*",
        "ulimit -f 0; heliograph --help > help",
        "echo | heliograph smsc --password-file - | cat",
        "heliograph --help > /dev/full",
        "heliograph --help >&-",
        "heliograph account nothing 2>&-",
        "heliograph account list <&-",
        "for k in 1 2 3 4; do heliograph --version & done; wait",
    ],
)
def test_it_says_and_ends_as_the_installed_program(tmp_path: Path, commands: str) -> None:
    here, told = tmp_path / "here", []
    for program in (None, warm.HELIOGRAPH):
        here.mkdir()
        told.append(shell(commands, here, program))
        shutil.rmtree(here)
    assert told[0] == told[1]


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_goes_on_to_the_fork_and_its_status_comes_back(
    smsc: "subprocess.Popen[str]", tmp_path: Path, ends: signal.Signals
) -> None:
    (fork,) = forks_in(tmp_path)
    smsc.send_signal(ends)
    assert smsc.wait(WITHIN_S) == 0
    assert smsc.stdout is not None
    assert '"counts"' in smsc.stdout.read(), "it was stopped in order"
    assert not fork.is_running()


def test_a_signal_that_ends_the_fork_ends_the_program_too(
    smsc: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    smsc.send_signal(signal.SIGHUP)  # which nobody handles
    assert smsc.wait(WITHIN_S) == -signal.SIGHUP


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGSEGV])
def test_a_fork_that_is_killed_is_told_as_such(
    smsc: "subprocess.Popen[str]", tmp_path: Path, ends: signal.Signals
) -> None:
    (fork,) = forks_in(tmp_path)
    fork.send_signal(ends)
    assert smsc.wait(WITHIN_S) == -ends


def test_the_fork_of_a_killed_program_is_killed(
    smsc: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    (fork,) = forks_in(tmp_path)
    smsc.kill()
    assert smsc.wait(WITHIN_S) == -signal.SIGKILL
    wait_until(lambda: not fork.is_running(), "the fork has ended", WITHIN_S)


def test_what_a_shell_lets_it_ignore_is_ignored(tmp_path: Path) -> None:
    """A shell does so with SIGHUP behind nohup, and with SIGINT behind &."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with begun(SMSC, tmp_path, ignore) as process:
        port_of(process)
        (fork,) = forks_in(tmp_path)
        for each in (process.pid, fork.pid):
            os.kill(each, signal.SIGHUP)
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def test_a_command_that_starts_others_takes_them_with_it(
    postgresql_url: str, redis_url: str, tmp_path: Path
) -> None:
    words = ["api", "--workers", "2", "--port", str(free_port())]
    env = {"DATABASE_URL": postgresql_url, "REDIS_URL": redis_url}
    workers: list[psutil.Process] = []

    def have_begun() -> bool:
        workers.clear()
        for fork in forks_in(tmp_path):
            with suppress(psutil.Error):  # it has ended since it was found
                workers.extend(fork.children())
        return len(workers) >= 2

    with begun(words, tmp_path, HELIOGRAPH_SECRET_KEY=SECRET_KEY, **env) as process:
        wait_until(have_begun, "all workers have begun", WITHIN_S)
        process.kill()
        wait_until(
            lambda: not any(worker.is_running() for worker in workers),
            "all workers have ended",
            WITHIN_S,
        )


def test_what_the_loader_is_told_is_heard_by_the_installed_program(tmp_path: Path) -> None:
    status, _, err = shell("PYTHONVERBOSE=1 heliograph --version", tmp_path)
    assert (status, "import" in err) == (0, True)


def test_more_words_than_the_starter_takes_go_to_the_installed_program(tmp_path: Path) -> None:
    status, _, err = shell("heliograph account list $(seq 1 40000)", tmp_path)
    assert (status, "unexpected extra argument" in err) == (2, True)


def test_a_script_of_other_variables_has_forks_too(tmp_path: Path) -> None:
    """They come from a starter of their own, because an interpreter hears these at its start."""
    with begun(SMSC, tmp_path, TZ="Asia/Tokyo") as process:
        port_of(process)
        assert len(forks_in(tmp_path)) == 1
