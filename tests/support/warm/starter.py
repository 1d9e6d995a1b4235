"""`python -m tests.support.warm.starter FD`: imports all of Heliograph, then forks for each order
that comes through the socket FD, until that is closed.
"""

import gc
import json
import os
import pkgutil
import socket
import sys
import time
from importlib import import_module
from types import ModuleType
from typing import Any

import heliograph
from tests.support.warm import ORDER_OCTETS_MAX, siblings


def main() -> None:
    _import_everything()
    orders = socket.socket(fileno=int(sys.argv[1]))
    while True:
        order, streams, _, _ = socket.recv_fds(orders, ORDER_OCTETS_MAX, 3)
        if not order:
            return
        reads, writes = os.pipe()
        parent = os.fork()
        if parent == 0:
            _fork_again(writes)
            orders.close()
            os.close(reads)
            _become(json.loads(order), streams)
            return
        os.close(writes)
        os.waitpid(parent, 0)  # from now on the new process is a child of who has ordered it
        orders.send(os.read(reads, 32))
        for stream in (reads, *streams):
            os.close(stream)


def _import_everything() -> None:
    for module in pkgutil.walk_packages(heliograph.__path__, "heliograph."):
        if ".migrations." not in module.name and not module.name.endswith("__main__"):
            import_module(module.name)
    gc.collect()
    gc.freeze()  # else the first collection of each fork would copy all of it


def _fork_again(writes: int) -> None:
    """Goes on in a child, whose id it tells, and ends this process, so that the child is adopted.
    Returns in the child once it is.
    """
    between = os.getpid()
    if child := os.fork():
        os.write(writes, str(child).encode())
        os._exit(0)
    os.close(writes)
    while os.getppid() == between:
        time.sleep(0.000_5)


def _become(order: dict[str, Any], streams: list[int]) -> None:
    """Runs `heliograph` as the order has it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = order["words"]
    script = ModuleType("__main__")  # as for `spawn`, which runs it again in new processes
    script.__file__ = sys.argv[0]
    sys.modules["__main__"] = script
    if "api" in sys.argv:
        siblings.prepare()
    from heliograph.cli import main as command

    command()


if __name__ == "__main__":
    main()
