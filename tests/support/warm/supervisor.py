"""Stands between a program that a script has started (in_path.py) and the fork that does its work:
it forwards signals and the exit status, and ends the fork if the program is gone.
"""

import json
import os
import select
import signal
import socket
import struct
from contextlib import suppress

from tests.support.warm.in_path import COLD, FORKED, ORDER_OCTETS_MAX, STREAMS
from tests.support.warm.order import Order, for_the_loader


def supervise(program: socket.socket) -> Order:
    """Returns in a fork of this process, with the program's order. This process ends here, when the
    fork or the program has ended.
    """
    try:
        order = _read(program)
        if order is None:
            program.send(COLD)
            os._exit(0)
        os.setsid()  # Ctrl-C reaches the fork through the program only
        program.send(FORKED)
    except (BrokenPipeError, FileNotFoundError):  # the program has been killed
        os._exit(0)
    if command := os.fork():
        for stream in order.streams:
            os.close(stream)
        _watch(command, program)
        os._exit(0)
    program.close()
    return order


def _read(program: socket.socket) -> Order | None:
    """Returns None if a fork cannot stand in for what the program was started as."""
    peer = struct.unpack("3i", program.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    message, streams, _, _ = socket.recv_fds(program, ORDER_OCTETS_MAX, len(STREAMS))
    if not message:
        raise BrokenPipeError
    order = Order(json.loads(message), streams, peer[0])
    alike = (
        for_the_loader(order.said["environment"]) == for_the_loader(os.environ)
        and peer[1:] == (os.getuid(), os.getgid())
        and _namespaces(str(peer[0])) == _namespaces("self")
    )
    return order if alike else None


def _namespaces(process: str) -> dict[str, str]:
    directory = f"/proc/{process}/ns"
    return {kind: os.readlink(f"{directory}/{kind}") for kind in os.listdir(directory)}


def _watch(command: int, program: socket.socket) -> None:
    """Waits for the command, forwards signals to it, and tells the program how it ended."""
    ended = os.pidfd_open(command)
    watched: list[int | socket.socket] = [ended, program]
    while ended not in select.select(watched, [], [])[0]:
        asked = program.recv(1)
        os.kill(command, asked[0] if asked else signal.SIGKILL)
        if not asked:
            break
    _, status = os.waitpid(command, 0)
    with suppress(BrokenPipeError):
        program.send(str(os.waitstatus_to_exitcode(status)).encode())
