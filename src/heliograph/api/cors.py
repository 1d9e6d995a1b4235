"""Lets scripts of web pages call the API, for origins that the operator has named: cross-origin
resource sharing (the Fetch standard, 3.3).

A browser sends the key only because the script puts it there: there are no cookies. So credentials
are never allowed, and neither is `*`.
"""

from collections.abc import Iterable, MutableMapping
from typing import Any, Final

from heliograph.api.api import Send, new_request_id
from heliograph.api.bodies import Headers, Scope

METHODS: Final = b"GET, HEAD, POST, PUT, DELETE"
# beside those that a browser lets every script set
REQUEST_HEADERS: Final = b"Authorization, Content-Type, Idempotency-Key"
ANSWER_HEADERS: Final = (
    b"X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After,"
    b" Idempotent-Replayed"
)
# by the browser; an origin that is taken away is refused by its next answer anyway
PREFLIGHT_KEPT_S: Final = 600
VARY: Final = (b"vary", b"Origin")


class Cors:
    """Adds the headers to the answers of the API, failures too: without them a script
    learns nothing of a 401 or 429.
    """

    def __init__(self, origins: Iterable[str]) -> None:
        self._headers: dict[bytes, Headers] = {
            origin.encode(): [
                VARY,
                (b"access-control-allow-origin", origin.encode()),
                (b"access-control-expose-headers", ANSWER_HEADERS),
            ]
            for origin in origins
        }

    def sending(self, scope: Scope, send: Send) -> Send:
        """Returns `send` with the headers that this request's answer takes. Every answer
        says that it depends on the origin, for caches between.
        """
        origin = _origin(scope)
        more = [VARY] if origin is None else self._headers.get(origin, [VARY])

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *more]
            await send(message)

        return send_with_headers

    def is_preflight(self, scope: Scope) -> bool:
        """Returns whether a browser asks, for one of the origins, if a script may send a
        request. It asks so without a key.
        """
        return (
            scope["method"] == "OPTIONS"
            and _origin(scope) in self._headers
            and any(name == b"access-control-request-method" for name, _ in scope["headers"])
        )


async def answer_preflight(send: Send) -> None:
    """Names what the API reads; `send` comes from `Cors.sending`. The browser decides by it,
    whatever path it asked for.
    """
    headers: Headers = [
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", REQUEST_HEADERS),
        (b"access-control-max-age", b"%d" % PREFLIGHT_KEPT_S),
        (b"x-request-id", new_request_id().encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _origin(scope: Scope) -> bytes | None:
    found = [value for name, value in scope["headers"] if name == b"origin"]
    return found[0] if len(found) == 1 else None
