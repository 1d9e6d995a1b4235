"""Finds out from the leases which processes send, for which carriers, and which of them does the
common work.
"""

from collections.abc import Mapping
from typing import Final

from heliograph.database.leases import Lease, PeerProcess

SERVE: Final = "serve"  # everything in one process, which has the database's queue to itself
# all carriers that have no process of their own, and what is everybody's while no scheduler lives
WORKER: Final = "worker"
CARRIER: Final = "carrier"  # one carrier
SCHEDULER: Final = "scheduler"  # no carrier: what is everybody's
API: Final = "api"  # accepts, and sends nothing
SENDING: Final = (SERVE, WORKER, CARRIER, SCHEDULER)  # as opposed to those that accept
DELIVERING: Final = (SERVE, WORKER, SCHEDULER)  # events to webhook endpoints
ANSWERING: Final = (SERVE, API)  # requests


def with_a_process_of_their_own(lease: Lease) -> frozenset[int]:
    """Returns the carriers that others leave alone."""
    return frozenset(
        peer.carrier_id
        for peer in lease.peers.values()
        if peer.kind == CARRIER and peer.carrier_id is not None
    )


def senders(peers: Mapping[int, PeerProcess], carrier_id: int) -> list[int]:
    """Returns the epochs of those who share a carrier's rate, in one order for all of them.
    Whoever waives it has no part; if all do, each has.
    """
    own = [
        epoch
        for epoch, peer in peers.items()
        if peer.kind == CARRIER and peer.carrier_id == carrier_id
    ]
    serving = sorted(
        own or [epoch for epoch, peer in peers.items() if peer.kind in (SERVE, WORKER)]
    )
    return [epoch for epoch in serving if carrier_id not in peers[epoch].waived] or serving


def others_may_send(lease: Lease, carrier_id: int) -> bool:
    """Returns whether another process serves a carrier, or may not know yet that it shall not
    any more.
    """
    return any(
        epoch != lease.epoch
        and (
            peer.kind in (SERVE, WORKER) or (peer.kind == CARRIER and peer.carrier_id == carrier_id)
        )
        for epoch, peer in lease.peers.items()
    )


def is_active_scheduler(lease: Lease) -> bool:
    """Says whether this process looks after what is everybody's. One at a time does: the oldest
    scheduler or, while there is none, the oldest of the others that can. Should two of them believe
    it for a moment, that does no harm: each check is a transaction that takes what it deals with.
    """
    for kinds in ((SCHEDULER,), (SERVE, WORKER)):
        able = [epoch for epoch, peer in lease.peers.items() if peer.kind in kinds]
        if able:
            return min(able) == lease.epoch
    return False
