"""Reserves names that no account may register: those of the service itself, of emergency calls, and
what the operator keeps for himself or for nobody.
"""

import re
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import REASON_MAX, invalid_field, one_line
from heliograph.database.reads import records_of
from heliograph.senders.look_alikes import as_letters, skeleton
from heliograph.senders.rules import SANDBOX, check
from heliograph.senders.tables import reserved_senders

RESERVED_MAX: Final = 10_000
EMERGENCY: Final = ("112", "911", "999")


# of two who reserve the same name at once, each would find that it is not there yet
_LOCK: Final = sa.text(f"LOCK TABLE {reserved_senders.name} IN SHARE ROW EXCLUSIVE MODE")


class Reserved(NamedTuple):
    """Holds a name that the operator has reserved, and with it all that look like it."""

    sender: str
    reason: str
    created_at_ms: int


class Reservation(NamedTuple):
    """Says what was reserved before a name was, and what is now. Nothing was, or a name that looks
    like it.
    """

    before: Reserved | None
    after: Reserved


_COLUMNS: Final = [reserved_senders.c[name] for name in Reserved._fields]


def refuse_reserved(tx: Connection, sender: str, service_sender: str) -> None:
    """Raises InvalidRequest for a name that is reserved, or looks like one that is. Why
    the operator has reserved it is not told.
    """
    always = _always(sender, service_sender)
    if always is not None:
        raise invalid_field(
            "sender", f"must be another one: {quote_value(sender)} is reserved, because {always}"
        )
    if find_reserved(tx, sender) is not None:
        raise invalid_field("sender", f"must be another one: {quote_value(sender)} is reserved")


def reason_for(tx: Connection, sender: str, service_sender: str) -> str | None:
    """Returns why accounts may not register this sender, for the operator, or None when they
    may.
    """
    always, reserved = _always(sender, service_sender), find_reserved(tx, sender)
    return always or (
        f"it is, or looks like, {reserved.sender}: {reserved.reason}"
        if reserved is not None
        else None
    )


def _always(sender: str, service_sender: str) -> str | None:
    """Returns why a name is reserved whatever the operator says. `service_sender` is what the
    service's one-time passwords come from.
    """
    if skeleton(sender) == skeleton(SANDBOX):
        return "it is, or looks like, the sender of sandbox messages"
    if skeleton(sender) == skeleton(service_sender):
        return "it is, or looks like, the sender of the service's own one-time passwords"
    # A name without a digit, such as GIL, passes for no number.
    if sender in EMERGENCY or (
        re.search(r"[0-9]", sender) and skeleton(sender) in map(as_letters, EMERGENCY)
    ):
        return "it is, or looks like, an emergency number"
    return None


def find_reserved(tx: Connection, sender: str) -> Reserved | None:
    """Returns the name that the operator has reserved and that this is or looks like, or None."""
    row = tx.execute(
        sa.select(*_COLUMNS).where(reserved_senders.c.skeleton == skeleton(sender))
    ).one_or_none()
    return None if row is None else Reserved(**row._asdict())


def add(tx: Connection, sender: str, reason: str, *, now_ms: int) -> Reservation:
    """Keeps a name, and what looks like it, from being registered. An account that has it keeps it.
    Raises InvalidRequest for what cannot be a sender.
    """
    record = Reserved(check(sender), one_line("reason", reason, most=REASON_MAX), now_ms)
    _lock(tx)
    known = find_reserved(tx, record.sender)
    if known is not None:
        tx.execute(
            reserved_senders.update()
            .where(reserved_senders.c.skeleton == skeleton(record.sender))
            .values(sender=record.sender, reason=record.reason)
        )
        return Reservation(known, record._replace(created_at_ms=known.created_at_ms))
    if (
        tx.execute(sa.select(sa.func.count()).select_from(reserved_senders)).scalar_one()
        >= RESERVED_MAX
    ):
        raise invalid_field("sender", f"cannot be reserved: at most {RESERVED_MAX} names can be")
    tx.execute(
        reserved_senders.insert().values(skeleton=skeleton(record.sender), **record._asdict())
    )
    return Reservation(None, record)


def release(tx: Connection, sender: str) -> Reserved:
    """Lets accounts register it again. Raises NotFound."""
    row = tx.execute(
        reserved_senders.delete()
        .where(reserved_senders.c.skeleton == skeleton(sender))
        .returning(*_COLUMNS)
    ).one_or_none()
    if row is None:
        raise NotFound(f"The name {quote_value(sender)} is not reserved.")
    return Reserved(**row._asdict())


def of_operator(tx: Connection, *, limit: int = RESERVED_MAX) -> list[Reserved]:
    """Returns at most `limit` of the names that the operator has reserved, by name."""
    query = sa.select(*_COLUMNS).order_by(reserved_senders.c.sender).limit(limit)
    return records_of(Reserved, tx.execute(query))


def _lock(tx: Connection) -> None:
    """Lets nobody else reserve or release names until the transaction ends. Others go on reading
    them.
    """
    if tx.dialect.name == "postgresql":  # on SQLite, a writer is alone
        tx.execute(_LOCK)
