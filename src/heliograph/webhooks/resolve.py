"""The system's resolver for names that strangers choose: a name server that does not answer holds up its own names only."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult

LOOK_UPS_AT_ONCE: Final = 64  # threads; they wait for name servers and do nothing
SLOW_AT_ONCE: Final = 16  # … of them for names that took long before
SLOW_S: Final = 1.0  # what one endpoint may delay another by (contract section 7)
SLOW_NAMES_KEPT: Final = 10_000
ADDRESSES_MAX: Final = 4  # of a name: each may be tried, more than once, and a name server of a stranger's says how many there are

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
LookUp = Callable[[str, int], Sequence[AddressInfo]]


def system_look_up(host: str, port: int) -> Sequence[AddressInfo]:
    """Blocks; raises OSError."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class Resolver(AbstractResolver):
    """Looks names up in threads that do not hold up the process's end, a limited number at once. What waits for a thread has a name each: aiohttp
    asks once for all that want the same one at the same time."""

    def __init__(self, look_up: LookUp = system_look_up) -> None:
        self._look_up = look_up
        self._any = asyncio.Semaphore(LOOK_UPS_AT_ONCE - SLOW_AT_ONCE)
        self._slow = asyncio.Semaphore(SLOW_AT_ONCE)
        self._slow_names: dict[str, None] = {}  # in the order in which they were found slow

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """The first addresses of a name. Raises OSError."""
        async with self._slow if host in self._slow_names else self._any:
            began = time.monotonic()
            try:
                found = await self._in_thread(host, port)
            finally:
                self._remember(host, time.monotonic() - began)
        return [ResolveResult(hostname=host, host=str(where[0]), port=port, family=of, proto=protocol, flags=socket.AI_NUMERICHOST)
                for of, _, protocol, _, where in found[:ADDRESSES_MAX]]

    async def close(self) -> None:
        """Nothing to close: a look-up under way ends by itself, and with the process."""

    def _in_thread(self, host: str, port: int) -> "asyncio.Future[Sequence[AddressInfo]]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[AddressInfo]] = loop.create_future()

        def settle(found: Sequence[AddressInfo], error: OSError | None) -> None:
            if not answer.done():
                answer.set_result(found) if error is None else answer.set_exception(error)

        def ask() -> None:
            found: Sequence[AddressInfo] = ()
            error: OSError | None = None
            try:
                found = self._look_up(host, port)
            except OSError as caught:
                error = caught
            except Exception:  # noqa: BLE001  whatever it was, somebody waits; a name that has no form for name servers is a UnicodeError
                error = socket.gaierror(socket.EAI_FAIL, "the name cannot be looked up")
            try:
                loop.call_soon_threadsafe(settle, found, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        threading.Thread(target=ask, name="webhook-dns", daemon=True).start()
        return answer

    def _remember(self, host: str, seconds: float) -> None:
        self._slow_names.pop(host, None)
        if seconds > SLOW_S:
            self._slow_names[host] = None
        if len(self._slow_names) > SLOW_NAMES_KEPT:
            del self._slow_names[next(iter(self._slow_names))]
