"""Stores what the processes find out about carriers: their state, since when they are down, and how
they print their ids.

Each process that serves a carrier keeps the state of its own link. The carrier's state is the best
of them. These states are seen, and not decided, so there is no table of transitions: what is stored
is what was seen last, and any state may follow any other.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.carriers.link import LinkState
from heliograph.carriers.manage import DOWN_MS, Carrier, all_carriers
from heliograph.carriers.tables import carriers, links
from heliograph.database import config
from heliograph.database.reads import records_of

STATE_MEANINGS: Final = {
    LinkState.CONNECTING: "it is being connected: TCP, TLS or bind",
    LinkState.BOUND: "messages can be submitted; the detail says how many of its binds are up",
    LinkState.BACKING_OFF: "the connection failed or ended; it is tried again after 1 to 60 s",
    LinkState.REFUSED: (
        "the carrier refused the bind; it is tried again, slowly. An operator should check its"
        " settings"
    ),
    LinkState.CLOSED: "not started",
}

_DETAIL_MAX: Final = 255
# Where none is bound, what an operator can do something about comes first.
_ORDER: Final = {
    state.value: place
    for place, state in enumerate(
        (
            LinkState.BOUND,
            LinkState.REFUSED,
            LinkState.BACKING_OFF,
            LinkState.CONNECTING,
            LinkState.CLOSED,
        )
    )
}


class _CarrierState(NamedTuple):
    state: str
    detail: str


_NOBODY: Final = _CarrierState(LinkState.CLOSED.value, "")


def record(
    tx: Connection, process_number: int, carrier_id: int, state: LinkState, detail: str, now_ms: int
) -> None:
    """Stores the state of a process's link, and what it makes the carrier's state. A process that
    has closed its link has none. Processes that record a carrier's state at once wait for each
    other.
    """
    if state is LinkState.BOUND and _is_long_down(tx, carrier_id, now_ms):
        config.bump(tx)
    if not _lock_carriers(tx, carriers.c.id == carrier_id):
        return  # removed meanwhile
    tx.execute(
        sa.delete(links).where(links.c.epoch == process_number, links.c.carrier_id == carrier_id)
    )
    if state is not LinkState.CLOSED:
        tx.execute(
            links.insert().values(
                epoch=process_number,
                carrier_id=carrier_id,
                state=state.value,
                state_detail=detail[:_DETAIL_MAX],
            )
        )
    _store(
        tx,
        carrier_id,
        _combine(
            records_of(
                _CarrierState,
                tx.execute(
                    sa.select(links.c.state, links.c.state_detail.label("detail")).where(
                        links.c.carrier_id == carrier_id
                    )
                ),
            )
        ),
        now_ms,
    )


class PartlyBound(NamedTuple):
    """Describes a carrier that some processes are bound to and others are not: how many
    processes serve it, and the states of those others, as text.
    """

    processes: int
    others: list[str]


def partly_bound(tx: Connection) -> dict[int, PartlyBound]:
    """Returns the carriers that some processes are bound to and others are not, by their ids."""
    links_by_carrier: dict[int, list[_CarrierState]] = {}
    for link in tx.execute(
        sa.select(links.c.carrier_id, links.c.state, links.c.state_detail).order_by(links.c.epoch)
    ):
        links_by_carrier.setdefault(link.carrier_id, []).append(
            _CarrierState(link.state, link.state_detail)
        )
    unbound = {
        carrier_id: [
            f"{link.state}: {link.detail}"
            for link in of_carrier
            if link.state != LinkState.BOUND.value
        ]
        for carrier_id, of_carrier in links_by_carrier.items()
    }
    return {
        carrier_id: PartlyBound(len(links_by_carrier[carrier_id]), others)
        for carrier_id, others in unbound.items()
        if 0 < len(others) < len(links_by_carrier[carrier_id])
    }


def outdated(tx: Connection) -> dict[int, _CarrierState]:
    """Returns the carriers whose stored state is not the one that their links make, as happens
    after a process has died or two have recorded at once.
    """
    of_carrier: dict[int, list[_CarrierState]] = {}
    for link in tx.execute(sa.select(links.c.carrier_id, links.c.state, links.c.state_detail)):
        state = _CarrierState(link.state, link.state_detail)
        of_carrier.setdefault(link.carrier_id, []).append(state)
    stored = {
        row.id: _CarrierState(row.state, row.state_detail)
        for row in tx.execute(sa.select(carriers.c.id, carriers.c.state, carriers.c.state_detail))
    }
    found = {carrier_id: _combine(of_carrier.get(carrier_id, [])) for carrier_id in stored}
    return {carrier_id: state for carrier_id, state in found.items() if state != stored[carrier_id]}


def served_carriers(tx: Connection) -> list[Carrier]:
    """Returns all carriers in the states that their links make. The stored states may be those of
    processes that died, if no process is left to mend them.
    """
    differing = outdated(tx)
    found = []
    for carrier in all_carriers(tx):
        made = differing.get(carrier.id, _CarrierState(carrier.state, carrier.state_detail))
        found.append(carrier._replace(state=made.state, state_detail=made.detail))
    return found


def repair(tx: Connection, now_ms: int) -> None:
    """Stores the states that the links make where other ones are stored."""
    differing = outdated(tx)
    if any(
        made.state == LinkState.BOUND.value and _is_long_down(tx, carrier_id, now_ms)
        for carrier_id, made in differing.items()
    ):
        config.bump(tx)
    _lock_carriers(tx, carriers.c.id.in_(differing))
    for carrier_id, made in outdated(tx).items():
        if carrier_id in differing:
            _store(tx, carrier_id, made, now_ms)


def _combine(of_links: list[_CarrierState]) -> _CarrierState:
    if not of_links:
        return _NOBODY
    best = min(of_links, key=lambda link: _ORDER[link.state])
    alike = sum(link.state == best.state for link in of_links)
    if len(of_links) == 1:
        return best
    return best._replace(
        detail=f"in {alike} of {len(of_links)} processes: {best.detail}"[:_DETAIL_MAX]
    )


def _is_long_down(tx: Connection, carrier_id: int, now_ms: int) -> bool:
    """Says whether a carrier has been down so long that messages went elsewhere: it gets them again
    at once when it comes up, so the configuration changes. All who change it do that first, and
    lock the carrier then.
    """
    query = sa.select(carriers.c.down_since_ms).where(carriers.c.id == carrier_id)
    since_ms = tx.execute(query).scalar_one_or_none()
    return since_ms is not None and since_ms <= now_ms - DOWN_MS


def _lock_carriers(tx: Connection, which: sa.ColumnElement[bool]) -> bool:
    """Locks the rows of carriers, so that what their links make of them is read and stored by one
    process at a time. Says whether there is any.
    """
    query = sa.select(carriers.c.id).where(which).order_by(carriers.c.id)
    return bool(tx.execute(query.with_for_update(key_share=True)).all())


def _store(tx: Connection, carrier_id: int, new_state: _CarrierState, now_ms: int) -> None:
    """Stores the state of a carrier that is locked. `down_since_ms` stays at the moment it went
    down until it is bound again. One that we had ended ourselves begins anew, with its whole
    minute: the time without us says nothing of the carrier.
    """
    stored = tx.execute(
        sa.select(carriers.c.state, carriers.c.down_since_ms).where(carriers.c.id == carrier_id)
    ).one()
    began_ms: int | None = stored.down_since_ms if stored.down_since_ms is not None else now_ms
    if new_state.state == LinkState.BOUND.value:
        began_ms = None
    elif stored.state == LinkState.CLOSED.value and new_state.state != LinkState.CLOSED.value:
        began_ms = now_ms
    tx.execute(
        sa.update(carriers)
        .where(carriers.c.id == carrier_id)
        .values(state=new_state.state, state_detail=new_state.detail, down_since_ms=began_ms)
    )


def remember_id_format(tx: Connection, carrier_id: int, id_format: str) -> None:
    """Stores the base in which a carrier's receipts print its ids, once evidence has shown it."""
    config.bump(tx)
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier_id).values(id_format=id_format))


def remember_read_as(tx: Connection, carrier_id: int, id_format: str) -> None:
    """Stores the format in which a carrier's receipts that found no message have been read: they
    are read anew when another one is.
    """
    tx.execute(
        sa.update(carriers).where(carriers.c.id == carrier_id).values(parked_read_as=id_format)
    )
