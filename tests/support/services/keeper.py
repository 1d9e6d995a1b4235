"""Keeps one private service alive for exactly as long as whoever started it lives, even if that
ends by `kill -9`.

`python keeper.py DIRECTORY USER COMMAND…` starts the command in the directory (as that user, unless
empty), prints its pid, and waits for standard input to close. Then it stops the command and removes
the directory, unless it was told `keep`.
"""

import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

STOP_WITHIN_S = 10


def main() -> None:
    directory, user, command = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with (directory / "log").open("ab") as log:
        child = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **as_user(user),
        )
    print(child.pid, flush=True)
    order = sys.stdin.read()
    child.send_signal(signal.SIGINT)  # PostgreSQL: fast shutdown, without waiting for its clients
    try:
        child.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if order.strip() != "keep":
        shutil.rmtree(directory, ignore_errors=True)


class Identity(TypedDict):
    user: int | None
    group: int | None
    extra_groups: list[int] | None


def as_user(name: str) -> Identity:
    """Returns what makes `subprocess` run a command as that user; an empty name is whoever we
    are.
    """
    if not name:
        return {"user": None, "group": None, "extra_groups": None}
    account = pwd.getpwnam(name)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


if __name__ == "__main__":
    main()
