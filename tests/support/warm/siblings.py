"""Makes forks of the processes, too, that a fork spawns with `multiprocessing`.

`heliograph api` spawns the processes that answer requests. Each would import everything, which
takes 1.2 s of a processor. So a fork that may spawn first forks the nursery: a process that has
imported everything and done nothing else. Each spawned process is a fork of the nursery, so it
knows nothing of what its parent has done, as one that `spawn` makes. It is a child of its parent.
"""

import ctypes
import fcntl
import json
import multiprocessing.util
import os
import resource
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from prometheus_client import values
from prometheus_client.metrics import MetricWrapperBase

from heliograph.base import metrics

SET_NAME: Final = 15  # <linux/prctl.h>
SET_CHILD_SUBREAPER: Final = 36
ORDER_OCTETS_MAX: Final = 1 << 17
FILES_MAX: Final = 32
ABOVE_ALL: Final = 500  # file numbers that no order names
NAME: Final = "spawn_main"


def prepare() -> None:
    """Has `multiprocessing` spawn forks of what this process is now."""
    asks, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        asks.close()
        _nurse(answers)

    def spawn(_path: bytes, words: Sequence[Any], files: Sequence[int]) -> int:
        told = [*words][words.index("-c") :]
        order = {
            "words": told,
            "files": [*files],
            "environment": dict(os.environ),
            "files_max": resource.getrlimit(resource.RLIMIT_NOFILE),
        }
        _adopt(True)
        try:
            socket.send_fds(asks, [json.dumps(order).encode()], [*files])
            return int(asks.recv(32))
        finally:
            _adopt(False)

    answers.close()
    multiprocessing.util.spawnv_passfds = spawn  # type: ignore[assignment]  # with names of its own


def _nurse(orders: socket.socket) -> None:
    """Forks for each order, until the parent has ended."""
    while True:
        message, files, _, _ = socket.recv_fds(orders, ORDER_OCTETS_MAX, FILES_MAX)
        if not message:
            os._exit(0)
        reads, writes = os.pipe()
        between = os.fork()
        if between == 0:
            _fork_again(writes)
            os.close(reads)
            orders.close()
            _become(json.loads(message), files)
        os.close(writes)
        os.waitpid(between, 0)  # from now on the new process is a child of who has ordered it
        orders.send(os.read(reads, 32))
        for file in (reads, *files):
            os.close(file)


def _fork_again(writes: int) -> None:
    between = os.getpid()
    if child := os.fork():
        os.write(writes, str(child).encode())
        os._exit(0)
    os.close(writes)
    while os.getppid() == between:
        time.sleep(0.000_5)


def _become(order: dict[str, Any], files: list[int]) -> None:
    """Runs what Python was to run with `-c`, with the files at the numbers that it knows."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, ABOVE_ALL) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, order["files"], strict=True):
        os.dup2(file, number)
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, order["files_max"])
    os.environ.clear()
    os.environ.update(order["environment"])
    _count_together()
    option, program, *rest = order["words"]
    sys.argv = [option, *rest]
    if NAME in program:
        ctypes.CDLL(None).prctl(SET_NAME, NAME.encode(), 0, 0, 0)
    exec(program, {})
    sys.exit()


def _count_together() -> None:
    """Has the metrics begin as if they had been imported in this environment."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return
    values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase) and not metric._labelnames:
            metric._metric_init()  # type: ignore[no-untyped-call]


def _adopt(orphans: bool) -> None:
    """Decides whether this process becomes the parent of its grandchildren whose parent ends."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)
