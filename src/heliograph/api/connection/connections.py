"""Counts connections, in all and from one address, and looks once a second at those whose time is
up.

When a limit is reached, the connection that has waited longest for a request of its client is
closed, so that a newcomer is let in.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Final, Protocol

from heliograph.base import clock, metrics, open_files
from heliograph.base.addresses import network_of
from heliograph.base.log import Log
from heliograph.base.periodic import repeat

# 100 MB while they wait; at the very worst 640 MB more, if the heads of all are as large as may be,
# and what may be buffered
MOST: Final = 10_000
# of bodies and of requests ahead of their turn, in all; a body is 1 MiB at most, a read 250 KiB
BUFFERED_OCTETS_MAX: Final = 256 * 1024 * 1024
# half of the files that a process may open: webhooks take three eighths (webhooks/post_slots.py),
# databases and carriers the rest
SHARE: Final = 2
# One address may have a quarter of those connections at most, so that it keeps nobody else out.
ADDRESS_SHARE: Final = 4
# how much longer anything may take: a timer for each costs more than reading a request does
LOOK_S: Final = 1.0
TELL_S: Final = 60.0

ADDRESS_LIMIT: Final = "address_limit"
PROCESS_LIMIT: Final = "process_limit"

log = Log(__name__)


class ClientConnection(Protocol):
    """Describes what a connection needs so that it can be counted here. `peer` is set while
    it is.
    """

    peer: "ClientAddress | None"
    until_s: float
    unread_until_s: float

    def overdue(self) -> None:
        """Ends what has taken too long."""

    def make_room(self) -> None:
        """Closes the connection at once."""


class ClientAddress:
    """Counts the connections of one address. `waiting` holds those that wait for a request of their
    client, the longest first.
    """

    __slots__ = ("count", "is_proxy", "key", "waiting")

    def __init__(self, key: str, is_proxy: bool) -> None:
        self.key = key
        self.is_proxy = is_proxy
        self.count = 0
        self.waiting: dict[ClientConnection, None] = {}


class OpenConnections:
    """Counts the connections of one process. `is_proxy` tells whether an address is a proxy of the
    operator's own. A proxy's connections carry requests of many clients, so only the limit for all
    connections applies to them, and none of them is closed to make room for others.
    """

    def __init__(self, is_proxy: Callable[[str], bool]) -> None:
        self.most = min(MOST, open_files.limit() // SHARE)
        self.most_of_one = max(1, self.most // ADDRESS_SHARE)
        self._is_proxy = is_proxy
        self._peers: dict[str, ClientAddress] = {}
        self._all: set[ClientConnection] = set()
        self._waiting: dict[ClientConnection, None] = {}
        self._buffering: dict[ClientConnection, int] = {}
        self._buffered_octets = 0
        self._told_s = -math.inf
        self._host = ""
        self._untold = {ADDRESS_LIMIT: 0, PROCESS_LIMIT: 0}

    def admit(self, connection: ClientConnection, host: str) -> bool:
        """Counts a new connection, which waits. It returns False if there is no room, and none can
        be made.
        """
        key = network_of(host)
        peer = self._peers.get(key) or ClientAddress(key, self._is_proxy(host))
        if (
            peer.count >= self.most_of_one
            and not peer.is_proxy
            and not self._make_room(ADDRESS_LIMIT, peer.waiting, host)
        ):
            return False
        if len(self._all) >= self.most and not self._make_room(PROCESS_LIMIT, self._waiting, host):
            return False
        self._peers[key] = peer
        peer.count += 1
        connection.peer = peer
        self._all.add(connection)
        self.note_waiting(connection, peer)
        return True

    def note_waiting(self, connection: ClientConnection, peer: ClientAddress) -> None:
        """Notes that the client is to send a request: its connection may be closed for somebody
        else's.
        """
        if not peer.is_proxy:
            self._waiting[connection] = peer.waiting[connection] = None

    def note_working(self, connection: ClientConnection, peer: ClientAddress) -> None:
        """Notes that the client has sent a request."""
        self._waiting.pop(connection, None)
        peer.waiting.pop(connection, None)

    def note_buffered(self, connection: ClientConnection, octets: int) -> None:
        """Notes how many octets that a connection's client has sent are in memory. If there are too
        many in all, the connections that have buffered some for the longest are closed.
        """
        if connection.peer is None:
            return
        self._buffered_octets += octets - self._buffering.get(connection, 0)
        if octets:
            self._buffering[connection] = octets
        else:
            self._buffering.pop(connection, None)
        while self._buffered_octets > BUFFERED_OCTETS_MAX:
            longest = next(iter(self._buffering))
            self._close_for(PROCESS_LIMIT, longest, longest.peer.key if longest.peer else "")

    def note_closed(self, connection: ClientConnection) -> None:
        """Counts a connection no more."""
        peer, connection.peer = connection.peer, None
        if peer is None:
            return
        self.note_working(connection, peer)
        self._all.discard(connection)
        self._buffered_octets -= self._buffering.pop(connection, 0)
        peer.count -= 1
        if not peer.count:
            del self._peers[peer.key]

    async def watch(self) -> None:
        """Looks at all of them every LOOK_S, until cancelled."""
        await repeat(self._look, wait=LOOK_S, fault="connections_not_looked_at")

    async def _look(self) -> None:
        now_s = asyncio.get_running_loop().time()
        for connection in [
            each for each in self._all if each.until_s <= now_s or each.unread_until_s <= now_s
        ]:
            connection.overdue()
        self._log_limit()

    def _make_room(self, why: str, waiting: dict[ClientConnection, None], host: str) -> bool:
        longest = next(iter(waiting), None)
        self._close_for(why, longest, host)
        return longest is not None

    def _close_for(self, why: str, connection: ClientConnection | None, host: str) -> None:
        """Closes a connection to make room, if there is one to close, and counts it."""
        if connection is not None:
            self.note_closed(connection)
            connection.make_room()
        metrics.count_closed_connection(why)
        self._untold[why] += 1
        self._host = host
        self._log_limit()

    def _log_limit(self) -> None:
        """Logs at once, and then at most once a minute, with the address that came last."""
        if any(self._untold.values()) and clock.monotonic_s() - self._told_s >= TELL_S:
            self._told_s = clock.monotonic_s()
            log.warning(
                "connections_limited",
                **self._untold,
                open=len(self._all),
                most=self.most,
                most_of_one=self.most_of_one,
                client=self._host,
            )
            self._untold = dict.fromkeys(self._untold, 0)
