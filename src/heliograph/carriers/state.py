"""What the processes find out about carriers: their state, since when they are down, how they print their ids."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import config
from heliograph.carriers.link import LinkState
from heliograph.carriers.manage import DOWN_MS
from heliograph.carriers.tables import carriers

_DETAIL_MAX = 255


def record_state(tx: Connection, carrier_id: int, state: LinkState, detail: str, now_ms: int) -> None:
    """Keeps a link's state; `down_since_ms` stays at the moment it went down until it is bound again. One that comes up after having been down
    so long that messages went elsewhere gets them again at once. One that we had ended ourselves begins anew, with its whole minute: the time
    without us says nothing of the carrier."""
    known = tx.execute(sa.select(carriers.c.state, carriers.c.down_since_ms).where(carriers.c.id == carrier_id)).one_or_none()
    if known is None:
        return  # removed meanwhile
    began_ms: int | None = known.down_since_ms if known.down_since_ms is not None else now_ms
    if state is LinkState.BOUND:
        if known.down_since_ms is not None and known.down_since_ms <= now_ms - DOWN_MS:
            config.bump(tx)
        began_ms = None
    elif known.state == LinkState.CLOSED.value and state is not LinkState.CLOSED:
        began_ms = now_ms
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier_id)
               .values(state=state.value, state_detail=detail[:_DETAIL_MAX], down_since_ms=began_ms))


def remember_id_format(tx: Connection, carrier_id: int, id_format: str) -> None:
    """The base in which a carrier's receipts print its ids, once evidence has shown it."""
    config.bump(tx)
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier_id).values(id_format=id_format))


def remember_parked_read_as(tx: Connection, carrier_id: int, id_format: str) -> None:
    """The format in which a carrier's receipts that found no message have been read: they are read anew when another one is."""
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier_id).values(parked_read_as=id_format))
