"""Stands for `heliograph` in the PATH of scripts: it asks a starter for a fork, and ends as that
does.

It is run as a program: `python -I -S in_path.py REAL ADDRESS WORD…`, where REAL is the program that
was installed. It hands over its words, environment, directory, umask and open standard streams, and
it forwards signals. If the starter cannot stand in for the real program, this runs that instead.
"""

import json
import os
import signal
import socket
import sys

ORDER_OCTETS_MAX = 1 << 17  # of a message that a socket of SOCK_SEQPACKET takes
FORKED, COLD = b"forked", b"cold"  # what a starter answers
STREAMS = (0, 1, 2)
FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def main() -> None:
    real, address, *words = sys.argv[1:]
    streams = [number for number in STREAMS if _is_open(number)]  # a socket may get a closed one
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as starter:
        if not _forked(starter, address, [real, *words], streams):
            os.execv(real, [real, *words])
        for number in FORWARDED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda number, _: starter.send(bytes([number])))
        told = starter.recv(8)
    if not told:
        sys.exit("The process that waits for the command is gone.")
    _end(int(told))


def _forked(starter: socket.socket, address: str, words: list[str], streams: list[int]) -> bool:
    """Returns whether a fork has begun to do what this process was started for."""
    umask = os.umask(0)
    os.umask(umask)
    order = {
        "words": words,
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "streams": streams,
        "umask": umask,
        "ignored": [int(s) for s in FORWARDED if signal.getsignal(s) == signal.SIG_IGN],
    }
    message = json.dumps(order).encode()
    if len(message) > ORDER_OCTETS_MAX:
        return False
    try:
        starter.connect(address)
        socket.send_fds(starter, [message], streams)
        return starter.recv(8) == FORKED
    except OSError:  # the starter has ended, or belongs to somebody else
        return False


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True


def _end(status: int) -> None:
    """Ends as the command did. A negative status is that of a signal."""
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
