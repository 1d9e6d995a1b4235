"""Drops trailers, and decides when a connection is read and when it is closed. These are parts of
`api/connection/protocol.py`.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl


class DroppedTrailers(list[tuple[bytes, bytes]]):
    """Drops the fields that come after a head, which are trailers. No client may say there who it
    is, or for whom it asks (RFC 9110, 6.5.1).
    """

    def append(self, field: tuple[bytes, bytes]) -> None:
        """Keeps nothing."""


DROPPED: Final = DroppedTrailers()


class Flow(FlowControl):
    """While it is blocked, nothing is read from the connection, whoever asks for more."""

    is_blocked = False

    def block(self) -> None:
        """Reads nothing from now on."""
        self.is_blocked = True
        self.pause_reading()

    def unblock(self, *, is_full: bool = False) -> None:
        """Reads again: at once, or, if the body that is being read `is_full`, as soon as
        something has been taken of it.
        """
        self.is_blocked = False
        if not is_full:
            self.resume_reading()

    def resume_reading(self) -> None:
        if not self.is_blocked:
            super().resume_reading()


class ResponseTransport:
    """Stands for the transport of a response. The response calls `close` when it is whole. That is
    the protocol's own `close`, because the protocol may go on reading.
    """

    __slots__ = ("close", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close
