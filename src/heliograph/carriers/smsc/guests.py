"""Who is connected to the SMSC, and whether one more may be: in all, and from one address."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol

from heliograph.base import clock, files
from heliograph.carriers.smsc.journal import Journal

SESSIONS_MAX: Final = 1_000  # each may make it remember some MB
SESSIONS_OF_ADDRESS_MAX: Final = 500  # so that one address never takes the places of all others
FILES_KEPT: Final = 50  # for the log, standard streams, and connections that are just being refused
TOLD_S: Final = 60.0  # how often the log says that connections are refused, each of which is counted


class Guest(Protocol):
    """A session, as the list of them sees it."""

    closed: asyncio.Event

    def unbind(self) -> None: ...


class Guests:
    """The sessions that there are, each with the address of its client."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._addresses: dict[Guest, str] = {}
        self._of_address: Counter[str] = Counter()
        self._told_s = float("-inf")

    def __len__(self) -> int:
        return len(self._addresses)

    def __iter__(self) -> Iterator[Guest]:
        return iter(list(self._addresses))

    def __contains__(self, guest: Guest) -> bool:
        return guest in self._addresses

    def admit(self, guest: Guest, address: str) -> bool:
        """Returns whether there is room for one more from this address; then it counts until `left`."""
        most = min(SESSIONS_MAX, files.limit() - FILES_KEPT)
        if len(self._addresses) >= most:
            self._refused(address, f"there are {most} connections; allowed: {most}")
            return False
        if self._of_address[address] >= SESSIONS_OF_ADDRESS_MAX:
            self._refused(address, f"this address has {SESSIONS_OF_ADDRESS_MAX} connections; allowed: {SESSIONS_OF_ADDRESS_MAX}")
            return False
        self._addresses[guest] = address
        self._of_address[address] += 1
        return True

    def left(self, guest: Guest) -> None:
        address = self._addresses.pop(guest)
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def _refused(self, address: str, why: str) -> None:
        self._journal.count("connection_refused")
        if clock.monotonic_s() - self._told_s >= TOLD_S:
            self._told_s = clock.monotonic_s()
            self._journal.note("refused", peer=address, why=why)
            self._journal.flush()
