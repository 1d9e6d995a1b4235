"""Imports all of Heliograph, then forks: `python -m tests.support.warm.starter TESTS SCRIPTS`.

TESTS is a socket through which the tests' process orders forks, until it closes it. SCRIPTS is one
that listens, in a directory of its own: whatever connects to it orders one fork (in_path.py).
"""

import gc
import json
import os
import pkgutil
import select
import shutil
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import heliograph
from tests.support.warm.in_path import ORDER_OCTETS_MAX
from tests.support.warm.order import Order
from tests.support.warm.supervisor import supervise


def main() -> None:
    _import_everything()
    tests, scripts = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    directory = Path(scripts.getsockname()).parent
    order = _next_fork(tests, scripts)
    if order is None:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        order.become()


def _import_everything() -> None:
    gc.disable()  # what modules make stays, so looking for garbage meanwhile is a fifth of the work
    for module in pkgutil.walk_packages(heliograph.__path__, "heliograph."):
        if ".migrations." not in module.name and not module.name.endswith("__main__"):
            import_module(module.name)
    gc.enable()
    gc.collect()
    gc.freeze()  # else the first collection of each fork would copy all of it


def _next_fork(tests: socket.socket, scripts: socket.socket) -> Order | None:
    """Returns in each fork, with what it is to become; and in the starter once the tests have
    ended, with None.
    """
    while True:
        ready, _, _ = select.select([tests, scripts], [], [])
        if scripts in ready:
            program, _ = scripts.accept()
            if os.fork() == 0:
                tests.close()
                scripts.close()
                return supervise(program)
            program.close()
        if tests in ready:
            message, streams, _, _ = socket.recv_fds(tests, ORDER_OCTETS_MAX, 3)
            if not message:
                return None
            if (child := _child_of_the_tests()) == 0:
                tests.close()
                scripts.close()
                return Order(json.loads(message), streams)
            tests.send(str(child).encode())
            for stream in streams:
                os.close(stream)
        _forget_supervisors()


def _child_of_the_tests() -> int:
    """Forks twice, so that the new process is adopted by the one that has ordered it. Returns its
    id, and 0 in itself, once it is adopted.
    """
    reads, writes = os.pipe()
    parent = os.fork()
    if parent == 0:
        between = os.getpid()
        if child := os.fork():
            os.write(writes, str(child).encode())
            os._exit(0)
        while os.getppid() == between:
            time.sleep(0.000_5)
        os.close(reads)
        os.close(writes)
        return 0
    os.close(writes)
    os.waitpid(parent, 0)
    child = int(os.read(reads, 32))
    os.close(reads)
    return child


def _forget_supervisors() -> None:
    """Takes the exit status of those that have ended, which would otherwise stay as zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
