"""The least that any ASGI server in Python does is what our endpoint could reach if it did nothing.
Bare uvicorn serves it.

`/bare` answers a fixed body without looking at the request; `/json` reads and decodes the body and
encodes an answer first.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

Message = dict[str, Any]

_FIXED = (
    b'{"success":true,"data":{"message_id":"msg_01jzzzzzzzzzzzzzzzzzzzzzzz","status":"queued"}}'
)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


async def app(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Answers a request; it is the whole application (ASGI 3)."""
    if scope["type"] != "http":
        return
    body = _FIXED
    if scope["path"] == "/json":
        message = await receive()
        chunks = [message["body"]]
        while message.get("more_body"):
            message = await receive()
            chunks.append(message["body"])
        asked = _decode(b"".join(chunks))
        body = _encode(
            {
                "success": True,
                "data": {
                    "recipients": asked["recipients"],
                    "sender": asked["sender"],
                    "status": "queued",
                },
            }
        )
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
