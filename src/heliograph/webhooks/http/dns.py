"""Asks the system's resolver for names that strangers choose. A name server that does not answer
delays only names like its own.

Names are of three kinds: those that were found fast the last time, those that were slow not long
ago, and those that nothing is known of. Each kind has slots of its own, of which one account has
few, and a look-up keeps its slot for a second unless the name is slow already. So dead names delay
neither good names nor the new names of other accounts.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Final
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

from heliograph.webhooks.http.address_guard import AddressInfo

# How many look-ups run at once, each in a thread, which waits for name servers and does nothing.
GOOD_AT_ONCE: Final = 24  # of names that were found fast
NEW_AT_ONCE: Final = 24  # of names that nothing is known of
SLOW_AT_ONCE: Final = 16  # of names that took long
ACCOUNT_AT_ONCE: Final = 4  # of each of these kinds, for endpoints of one account
SLOW_S: Final = 1.0  # what one endpoint may delay another by (docs/reliability.md, row 25)
OVERDUE_MAX: Final = 256  # look-ups that go on without a place
# a name is slow for so long after it was, also when it is found fast between
SLOW_FOR_S: Final = 600.0
NAMES_KEPT: Final = 10_000  # of those that are good, and of those that are slow
# of a name: each may be tried, more than once, and a name server of a stranger's says how many
# there are
ADDRESSES_MAX: Final = 4

LookUp = Callable[[str, int], Sequence[AddressInfo]]
# whose endpoint a name is looked up for: aiohttp, which asks, has no word for it
of_account: ContextVar[str] = ContextVar("of_account", default="")


def system_look_up(host: str, port: int) -> Sequence[AddressInfo]:
    """Asks the system's resolver for the addresses of a name, which blocks. Raises OSError."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class _NameSlots:
    """Holds the slots of one kind of names. Accounts take turns, so an account never delays others
    by more than its own slots.
    """

    def __init__(self, most: int) -> None:
        self.all = asyncio.Semaphore(most)
        # for as long as somebody waits, or is in
        self._of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, account_id: str) -> asyncio.Semaphore:
        turns = self._of.get(account_id)
        if turns is None:
            turns = self._of[account_id] = asyncio.Semaphore(ACCOUNT_AT_ONCE)
        return turns


class Resolver(AbstractResolver):
    """Looks names up in threads that do not hold up the process's end, a limited number at once.
    What waits for a thread has a name each: aiohttp asks once for all that want the same one at the
    same time.
    """

    def __init__(self, look_up: LookUp = system_look_up) -> None:
        self._look_up = look_up
        self._good, self._new, self._slow = (
            _NameSlots(GOOD_AT_ONCE),
            _NameSlots(NEW_AT_ONCE),
            _NameSlots(SLOW_AT_ONCE),
        )
        self._good_names: dict[str, None] = {}  # in the order in which they were found last
        self._slow_until_s: dict[str, float] = {}  # by name, in order
        # whose place is another's already
        self._overdue: set[asyncio.Future[Sequence[AddressInfo]]] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Returns the first addresses of a name. Raises OSError."""
        places = self._places(host)
        async with places.of(of_account.get()), places.all:
            answer = self._in_thread(host, port)
            # names that were good may die together: none keeps its place from others for longer
            # than they may be delayed
            leaves = places is not self._slow and len(self._overdue) < OVERDUE_MAX
            began, late = time.monotonic(), False
            try:
                late = bool((await asyncio.wait({answer}, timeout=SLOW_S if leaves else None))[1])
            finally:
                # a timer may go off a moment early
                self._remember(host, slow=late or time.monotonic() - began >= SLOW_S)
                if not answer.done():
                    self._overdue.add(answer)
        found = await answer
        return [
            ResolveResult(
                hostname=host,
                host=str(where[0]),
                port=port,
                family=of,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for of, _, protocol, _, where in found[:ADDRESSES_MAX]
        ]

    async def close(self) -> None:
        """Closes nothing: a look-up under way ends by itself, and with the process."""

    def _in_thread(self, host: str, port: int) -> "asyncio.Future[Sequence[AddressInfo]]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[AddressInfo]] = loop.create_future()

        def hand_over(addresses: Sequence[AddressInfo], error: OSError | None) -> None:
            self._overdue.discard(answer)
            if not answer.done():
                answer.set_result(addresses) if error is None else answer.set_exception(error)
                answer.exception()  # whoever waited may have gone

        def ask() -> None:
            addresses: Sequence[AddressInfo] = ()
            error: OSError | None = None
            try:
                addresses = self._look_up(host, port)
            except OSError as caught:
                error = caught
            # whatever it was, somebody waits; a name that has no form for name servers
            # is a UnicodeError
            except Exception:  # noqa: BLE001
                error = socket.gaierror(socket.EAI_FAIL, "the name cannot be looked up")
            try:
                loop.call_soon_threadsafe(hand_over, addresses, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        threading.Thread(target=ask, name="webhook-dns", daemon=True).start()
        return answer

    def _places(self, host: str) -> _NameSlots:
        if self._slow_until_s.get(host, 0.0) > time.monotonic():
            return self._slow
        return self._good if host in self._good_names else self._new

    def _remember(self, host: str, *, slow: bool) -> None:
        now_s = time.monotonic()
        self._good_names.pop(host, None)
        if slow:
            self._slow_until_s.pop(host, None)
            self._slow_until_s[host] = now_s + SLOW_FOR_S
        elif self._slow_until_s.get(host, 0.0) <= now_s:
            self._good_names[host] = None
        for names in (self._good_names, self._slow_until_s):
            if len(names) > NAMES_KEPT:
                del names[next(iter(names))]
