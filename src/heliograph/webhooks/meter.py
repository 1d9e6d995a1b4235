"""Counts what comes off the sockets of webhooks, below TLS, and cuts those off which too much comes.

An answer is bounded by its reader, but of TLS the reader sees the plain text only: a server can send session tickets, key updates or handshake
messages for as long as the connection lasts, which this process would decrypt and nobody would see.
"""

import asyncio
import socket
import struct
from typing import Final, NamedTuple

RECEIVED_MAX: Final = 128 * 1_024  # octets of one POST: certificates (20 KiB at most), heads, 64 KiB of body, and what TLS adds
LOOK_S: Final = 0.1
RECEIVE_BUFFER: Final = 8 * 1_024  # octets, of which Linux takes twice; it bounds what one turn of the event loop decrypts of one connection
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)  # Linux has it; elsewhere only the buffer bounds it
_BYTES_RECEIVED: Final = 128  # where `tcpi_bytes_received` stands in Linux's `struct tcp_info`, 8 octets
_READ_TO: Final = _BYTES_RECEIVED + 8


class _Metered(NamedTuple):
    socket: socket.socket
    before: int  # octets received before its present POST


class Meter:
    """The sockets of one Poster, by their file numbers. It looks by itself while there are any."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._sockets: dict[int, _Metered] = {}
        self._next: asyncio.TimerHandle | None = None

    def add(self, new: socket.socket) -> None:
        """Bounds the socket's buffer, which has to be done before it is connected, and begins to count."""
        new.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self._sockets[new.fileno()] = _Metered(new, 0)
        if self._next is None and _TCP_INFO is not None:
            self._next = self._loop.call_later(LOOK_S, self._look)

    def count_anew(self, number: int) -> None:
        """The socket of this number is used for another POST."""
        metered = self._sockets.get(number)
        if metered is not None:
            self._sockets[number] = metered._replace(before=_received(metered.socket))

    def close(self) -> None:
        """Counts no more."""
        self._sockets.clear()
        if self._next is not None:
            self._next.cancel()

    def _look(self) -> None:
        for number, metered in list(self._sockets.items()):
            if metered.socket.fileno() != number:  # it is closed
                del self._sockets[number]
            elif _received(metered.socket) - metered.before > RECEIVED_MAX:
                _cut(metered.socket)
        self._next = self._loop.call_later(LOOK_S, self._look) if self._sockets else None


def _received(of: socket.socket) -> int:
    """Returns how many octets have come off it; 0 where that cannot be told."""
    if _TCP_INFO is None:
        return 0
    try:
        told = of.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _READ_TO)
    except OSError:  # it ends just now
        return 0
    return int(struct.unpack_from("=Q", told, _BYTES_RECEIVED)[0]) if len(told) == _READ_TO else 0


def _cut(of: socket.socket) -> None:
    """Ends it for both sides; its transport sees the end and closes it."""
    try:
        of.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
