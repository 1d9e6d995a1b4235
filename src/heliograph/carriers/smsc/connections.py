"""Keeps track of who is connected to the SMSC, and limits the connections in all and from one
address.

Beyond a limit, the connection that has said nothing for the longest time is closed. So a newcomer
is let in, such as an operator who comes to the simulator.
"""

import asyncio
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final, Protocol

from heliograph.base import clock, open_files
from heliograph.base.addresses import network_of
from heliograph.carriers.smsc.journal import Journal

SESSIONS_MAX: Final = 1_000  # each may make it remember some MB
ADDRESS_SHARE: Final = 4  # one address has a quarter of the places at most
FILES_KEPT: Final = 50  # for the log, standard streams, and connections that are just being ended
# how often the log says that connections are ended for others, each of which is counted
TOLD_S: Final = 60.0

_quiet_since_s = attrgetter("quiet_since_s")


class ClientSession(Protocol):
    """Describes a session, as the list of sessions sees it."""

    closed: asyncio.Event
    quiet_since_s: float  # when it connected and, once it is bound, when it said something last

    def unbind(self) -> None: ...

    def abort(self, why: str) -> None: ...


class ClientSessions:
    """Lists the sessions that there are, each with the address of its client."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._addresses: dict[ClientSession, str] = {}
        self._of_address: dict[str, dict[ClientSession, None]] = {}
        self._told_s = float("-inf")

    def __len__(self) -> int:
        return len(self._addresses)

    def __iter__(self) -> Iterator[ClientSession]:
        return iter(list(self._addresses))

    def admit(self, session: ClientSession, host: str) -> None:
        """Adds a session to the list until `remove`; another session may have to end for it."""
        most = max(1, min(SESSIONS_MAX, open_files.limit() - FILES_KEPT))
        most_of_one = max(1, most // ADDRESS_SHARE)
        address = network_of(host)
        if len(self._of_address.get(address, ())) >= most_of_one:
            self._end_one(
                self._of_address[address],
                host,
                f"this address has {most_of_one} connections; allowed: {most_of_one}",
            )
        elif len(self._addresses) >= most:
            self._end_one(self._addresses, host, f"there are {most} connections; allowed: {most}")
        self._addresses[session] = address
        self._of_address.setdefault(address, {})[session] = None

    def remove(self, session: ClientSession) -> None:
        """Removes a session from the list, if it is still there."""
        address = self._addresses.pop(session, None)
        if address is None:
            return
        del self._of_address[address][session]
        if not self._of_address[address]:
            del self._of_address[address]

    def _end_one(self, sessions: Iterable[ClientSession], host: str, why: str) -> None:
        quietest = min(sessions, key=_quiet_since_s)
        self.remove(quietest)
        quietest.abort("ended for a newer connection")
        self._journal.count("limited")
        if clock.monotonic_s() - self._told_s >= TOLD_S:
            self._told_s = clock.monotonic_s()
            self._journal.note("limited", peer=host, why=why)
            self._journal.flush()
