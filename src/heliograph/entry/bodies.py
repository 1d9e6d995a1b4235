"""A request's body, read whole: how large it may be, and how long it may take to come."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from heliograph.base.errors import InvalidRequest, PayloadTooLarge, Unavailable

OCTETS_MAX: Final = 1 << 20  # 1 MiB (contract section 2)
WITHIN_S: Final = 30.0  # 35 kB a second, for the largest; without an end each slow one would hold a connection
LOOK_S: Final = 1.0  # how much longer it may take: a timer for each body costs more than reading it

Headers: TypeAlias = list[tuple[bytes, bytes]]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Disconnected(Exception):
    """The client went away before its request was whole."""


class Bodies:
    """All bodies that one event loop is reading. One look at them every LOOK_S, while there are any, ends those that come too slowly."""

    def __init__(self) -> None:
        self._began_s: dict[asyncio.Task[Any], float] = {}  # who is reading one, since when; the oldest is first
        self._too_slow: set[asyncio.Task[Any]] = set()
        self._looks = False

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Raises PayloadTooLarge, InvalidRequest when it does not come in time, Unavailable when this process ends before, Disconnected."""
        for name, value in headers:
            if name == b"content-length" and int(value) > OCTETS_MAX:
                raise PayloadTooLarge
        reader = asyncio.current_task()
        assert reader is not None
        self._began_s[reader] = time.monotonic()
        if not self._looks:
            self._look_later()
        try:
            return await _whole(receive)
        except asyncio.CancelledError as error:
            if reader not in self._too_slow:  # by the end of this process, which waits no longer: nothing was begun, so another can take it
                raise Unavailable("This server is stopping, and the body has not come whole.") from error
            self._too_slow.remove(reader)
            reader.uncancel()
            raise InvalidRequest(f"The body did not come whole within {WITHIN_S:g} s.", reason="body_too_slow") from error
        finally:
            del self._began_s[reader]

    def _look_later(self) -> None:
        self._looks = True
        asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._looks = False
        now_s = time.monotonic()
        for reader, began_s in self._began_s.items():
            if now_s - began_s < WITHIN_S:
                break
            if reader not in self._too_slow:
                self._too_slow.add(reader)
                reader.cancel()
        if self._began_s:
            self._look_later()


async def _whole(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    chunks = [body]
    size = len(body)
    while message.get("more_body"):
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > OCTETS_MAX:
            raise PayloadTooLarge
    if message["type"] == "http.disconnect":
        raise Disconnected
    return body if len(chunks) == 1 else b"".join(chunks)
