"""Stands for a Python that has collected the tests.

It is run as a program: `python -I -S stand_in.py ADDRESS -u -c PROGRAM`. It hands its standard
streams and the program over to a fork of the collector, and ends when that has ended.
"""

import os
import socket
import sys

STREAMS = (0, 1, 2)
PROGRAM_OCTETS_MAX = 1 << 12


def main() -> None:
    address, *_, program = sys.argv[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fork:
        fork.connect(address)
        socket.send_fds(fork, [program.encode()], [*STREAMS])
        for number in STREAMS[:2]:  # so that whoever reads them notices when the fork ends
            os.close(number)
        fork.recv(1)  # nothing comes: its end does
    os._exit(0)


if __name__ == "__main__":
    main()
