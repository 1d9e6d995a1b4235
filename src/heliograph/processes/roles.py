"""Finds out from the leases which processes send, for which carriers, and which of them does the
common work.
"""

from collections.abc import Mapping

from heliograph.database.leases import CARRIER, SERVE, WORKER, Lease, PeerProcess, common_worker


def dedicated_carriers(lease: Lease) -> frozenset[int]:
    """Returns the carriers that others leave alone."""
    return frozenset(
        peer.carrier_id
        for peer in lease.peers.values()
        if peer.kind == CARRIER and peer.carrier_id is not None
    )


def senders(peers: Mapping[int, PeerProcess], carrier_id: int) -> list[int]:
    """Returns the numbers of those who share a carrier's TPS, in one order for all of them.
    Whoever waives it has no part; if all do, each has.
    """
    own = [
        number
        for number, peer in peers.items()
        if peer.kind == CARRIER and peer.carrier_id == carrier_id
    ]
    serving = sorted(
        own or [number for number, peer in peers.items() if peer.kind in (SERVE, WORKER)]
    )
    return [number for number in serving if carrier_id not in peers[number].waived] or serving


def others_may_send(lease: Lease, carrier_id: int) -> bool:
    """Returns whether another process serves a carrier, or may not know yet that it must stop."""
    return any(
        number != lease.number
        and (
            peer.kind in (SERVE, WORKER) or (peer.kind == CARRIER and peer.carrier_id == carrier_id)
        )
        for number, peer in lease.peers.items()
    )


def is_active_scheduler(lease: Lease) -> bool:
    """Says whether this process looks after what is everybody's. One at a time does. Should two of
    them believe it for a moment, that does no harm: each check is a transaction that takes what it
    deals with.
    """
    return (
        common_worker({number: peer.kind for number, peer in lease.peers.items()}) == lease.number
    )
