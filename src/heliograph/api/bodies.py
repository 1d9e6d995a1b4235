"""Reads a request's whole body, and limits how large it may be. `api/connection/protocol.py` limits
how long it may take to arrive.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from heliograph.base import cancelling
from heliograph.base.errors import PayloadTooLarge, ServiceError, Unavailable

OCTETS_MAX: Final = 1 << 20  # 1 MiB (docs/api.md, "Bodies")
# chunks: 20,000 if each value of the largest body (base/json.py) is one; each costs what a few
# hundred octets cost
PIECES_MAX: Final = 32_768
# of a scope: why the rest of the body will not be read, once that is so
REFUSAL: Final = "heliograph.refusal"
# of a scope: what writes the whole response (connection/write_response.py), where that is possible
IN_ONE_PIECE: Final = "heliograph.in_one_piece"

Scope: TypeAlias = MutableMapping[str, Any]
Headers: TypeAlias = list[tuple[bytes, bytes]]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Disconnected(Exception):
    """The client went away before its request was whole."""


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Reads the whole body of a request. Raises PayloadTooLarge, what the protocol refuses the rest
    for, Unavailable when this process ends before it has come, Disconnected.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and int(value) > OCTETS_MAX:
            raise PayloadTooLarge
    try:
        return await _read_whole(scope, receive)
    # this process waits no longer: nothing was begun, so another can take it
    except asyncio.CancelledError as error:
        cancelling.allow_own_error()
        raise Unavailable("This server is stopping, and the body has not come whole.") from error


async def _read_whole(scope: Scope, receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    chunks = [body]
    size = len(body)
    while message.get("more_body"):
        _raise_refusal(scope)
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > OCTETS_MAX:
            raise PayloadTooLarge
    if message["type"] == "http.disconnect":
        raise Disconnected
    return body if len(chunks) == 1 else b"".join(chunks)


def _raise_refusal(scope: Scope) -> None:
    refusal = scope.get(REFUSAL)
    if isinstance(refusal, ServiceError):
        raise refusal
