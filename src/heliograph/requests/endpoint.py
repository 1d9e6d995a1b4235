"""An endpoint is one row of the one table from which routing, guards, the OpenAPI description
and the tests are made.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from heliograph.base.forms import Query
from heliograph.base.json import decode_object
from heliograph.base.short_texts import invalid_field
from heliograph.keys import Principal

IDEMPOTENCY_KEY_MAX: Final = 255
# a body that the event loop reads itself: the worst of this size takes 5 ms, a send to 1,000
# recipients 2 ms
READ_HERE_OCTETS_MAX: Final = 16_384
T = TypeVar("T")


class InThread(Protocol):
    """Runs blocking work in threads that the accounts share fairly. Raises Unavailable when too
    many wait.
    """

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Call(msgspec.Struct):
    """Holds one request that passed authentication, rate, permission and size."""

    principal: Principal
    request_id: str
    path: Mapping[str, str]  # path parameters
    query: Query
    body: bytes
    idempotency_key: str | None
    in_thread: InThread

    async def read(self, reader: Callable[[dict[str, Any]], T]) -> T:
        """Returns what `reader` makes of the body as an object. In the event loop it stands in
        place of `json`: a large body is read in a thread, so that meanwhile others are answered.
        Raises InvalidRequest (`invalid_json`), what `reader` raises, Unavailable.
        """
        if self._is_small():
            return reader(self.json())
        return await self.in_thread(lambda: reader(self.json()))

    async def work_on_body(self, work: Callable[[], T]) -> T:
        """Returns what `work` makes of a body: here if it is small, else in a thread. Raises what
        `work` raises, Unavailable.
        """
        return work() if self._is_small() else await self.in_thread(work)

    def _is_small(self) -> bool:
        return len(self.body) <= READ_HERE_OCTETS_MAX

    def json(self) -> dict[str, Any]:
        """Returns the body as an object. Raises InvalidRequest (`invalid_json`)."""
        return decode_object(self.body)


class ApiResponse(msgspec.Struct):
    """Holds the body of a 200 without `success`, which is written first."""

    body: dict[str, Any]
    replayed: bool = False
    raw: bytes | None = None  # already encoded, `success` included

    @classmethod
    def warning(cls, body: dict[str, Any], warnings: list[str]) -> "ApiResponse":
        """Returns a response with these warnings, if there are any."""
        return cls({**body, "warnings": warnings} if warnings else body)


Handler: TypeAlias = Callable[[Call], Awaitable[ApiResponse]]
BlockingHandler: TypeAlias = Callable[[Call], ApiResponse]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Describes a method and a path below /api/v1: the permission that it needs, and the function
    that answers it, either awaited in the event loop or run in a thread.
    """

    method: str
    path: str  # `/messages/{id}`
    permission: str
    handle: Handler | None = None
    handle_in_thread: BlockingHandler | None = None
    partners_only: bool = False  # refused to a Connect customer's own keys
    # further names of the same endpoint, which the description leaves out
    other_paths: tuple[str, ...] = ()

    @property
    def takes_body(self) -> bool:
        return self.method in ("POST", "PUT")


def idempotency_key(headers: list[tuple[bytes, bytes]]) -> str | None:
    """Returns the Idempotency-Key header, if any. Raises InvalidRequest when it is given twice
    or is not 1..255 printable ASCII characters.
    """
    given = [value for name, value in headers if name == b"idempotency-key"]
    if not given:
        return None
    key = given[0].decode("latin-1").strip()
    if (
        len(given) > 1
        or not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX
        or not key.isascii()
        or not key.isprintable()
    ):
        raise invalid_field(
            "Idempotency-Key",
            f"must stand once and have 1 to {IDEMPOTENCY_KEY_MAX} printable ASCII characters",
        )
    return key


__all__ = [
    "ApiResponse",
    "BlockingHandler",
    "Call",
    "Endpoint",
    "Handler",
    "InThread",
    "idempotency_key",
]
