"""Describes sender IDs, and finds them."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.clock import rfc3339, rfc3339_or_none
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.database.reads import records_of
from heliograph.senders.rules import fold
from heliograph.senders.states import APPROVED, SUBMITTED
from heliograph.senders.tables import senders

ID_PREFIX: Final = "sid"


class Sender(NamedTuple):
    """Holds a sender ID of one account. `id` and `account_id` are raw. The mode is that of the key
    (or command) that registered it.
    """

    id: str
    account_id: str
    sandbox: bool
    sender: str
    country_code: str | None
    purpose: str | None
    status: str  # one of states.py
    rejection_reason: str | None
    is_default: bool
    created_at_ms: int
    decided_at_ms: int | None


COLUMNS: Final = [senders.c[name] for name in Sender._fields]


def text_id(sender: Sender) -> str:
    """Returns the sender's id in text form, `sid_…`."""
    return ids.text_of_raw(ID_PREFIX, sender.id)


def by_id(tx: Connection, sender_id: str) -> Sender:
    """Returns the sender ID with this id (raw). Raises NotFound."""
    row = tx.execute(sa.select(*COLUMNS).where(senders.c.id == sender_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such sender ID.")
    return Sender(**row._asdict())


def find(tx: Connection, sender_text_id: str) -> Sender:
    """Returns the sender with this id in text form (`sid_…`), of whatever account: this is for
    the operator. Raises NotFound.
    """
    raw = ids.raw_of_text(ID_PREFIX, sender_text_id)
    if raw is None:
        raise NotFound(f"There is no sender with the id {quote_value(sender_text_id)}.")
    return by_id(tx, raw)


def of_account(tx: Connection, account_id: str, sender_text_id: str, *, sandbox: bool) -> Sender:
    """Returns an account's sender in its mode. Raises NotFound, the same for another account's
    sender and for none.
    """
    raw = ids.raw_of_text(ID_PREFIX, sender_text_id)
    found = by_id(tx, raw) if raw is not None else None
    if found is None or (found.account_id, found.sandbox) != (account_id, sandbox):
        raise NotFound("There is no such sender ID.")
    return found


def own_sender(tx: Connection, account_id: str, sender_text_id: str) -> Sender:
    """Returns a sender ID of an account (raw id), of either mode. Raises NotFound."""
    raw = ids.raw_of_text(ID_PREFIX, sender_text_id)
    found = None if raw is None else by_id(tx, raw)
    if found is None or found.account_id != account_id:
        raise NotFound("There is no such sender ID.")
    return found


def page(
    tx: Connection,
    *,
    limit: int,
    account_id: str | None = None,
    sandbox: bool | None = None,
    status: str | None = None,
    before_id: str | None = None,
) -> list[Sender]:
    """Returns at most `limit` senders, newest first: those made before the one with the raw id
    `before_id`. Without `account_id`, it returns everybody's.
    """
    query = sa.select(*COLUMNS).order_by(senders.c.id.desc()).limit(limit)
    wanted = {
        senders.c.account_id: account_id,
        senders.c.sandbox: sandbox,
        senders.c.status: status,
    }
    for column, value in wanted.items():
        if value is not None:
            query = query.where(column == value)
    if before_id is not None:
        query = query.where(senders.c.id < before_id)
    return records_of(Sender, tx.execute(query))


def waiting(tx: Connection, *, limit: int, after_id: str | None = None) -> list[Sender]:
    """Returns at most `limit` senders of all open accounts that wait for the operator, oldest
    first: those made after the one with the raw id `after_id`.
    """
    query = select_waiting(limit=limit)
    if after_id is not None:
        query = query.where(senders.c.id > after_id)
    return records_of(Sender, tx.execute(query))


def select_waiting(*, limit: int) -> sa.Select[Any]:
    """Returns the query for at most `limit` senders that wait, as `waiting` lists them."""
    of_open = sa.exists().where(
        accounts.c.id == senders.c.account_id, accounts.c.closed_at_ms.is_(None)
    )
    query = sa.select(*COLUMNS).where(senders.c.status == SUBMITTED, of_open)
    return query.order_by(senders.c.id).limit(limit)


def usable(tx: Connection, account_id: str, *, sandbox: bool) -> list[Sender]:
    """Returns the approved senders that this account may send from in this mode: in live mode the
    live ones, in sandbox those of both modes.
    """
    query = (
        sa.select(*COLUMNS)
        .where(senders.c.account_id == account_id, senders.c.status == APPROVED)
        .order_by(senders.c.id)
    )
    if not sandbox:
        query = query.where(senders.c.sandbox.is_(False))
    return records_of(Sender, tx.execute(query))


def with_name(tx: Connection, account_id: str, name: str) -> list[Sender]:
    """Returns the account's senders of this name, whatever their status: there is at most one of
    each mode, and the live one comes first.
    """
    query = (
        sa.select(*COLUMNS)
        .where(senders.c.account_id == account_id, senders.c.folded == fold(name))
        .order_by(senders.c.sandbox)
    )
    return records_of(Sender, tx.execute(query))


def owners_of(tx: Connection, name: str, *, limit: int, before_id: str | None = None) -> list[str]:
    """Returns the newest accounts (raw ids) that have registered a sender of this name, whatever
    its case and status: those made before the one with the raw id `before_id`.
    """
    owner_id = senders.c.account_id
    query = sa.select(owner_id).where(senders.c.folded == fold(name))
    if before_id is not None:
        query = query.where(owner_id < before_id)
    return list(tx.execute(query.distinct().order_by(owner_id.desc()).limit(limit)).scalars())


def approved_senders(
    tx: Connection, account_ids: Collection[str]
) -> dict[tuple[str, bool], dict[str, str]]:
    """Returns what sends may name, by account and mode: each sender in lower case, with the form
    in which it was approved and goes out.
    """
    query = (
        sa.select(*COLUMNS)
        .where(senders.c.account_id.in_(account_ids), senders.c.status == APPROVED)
        .order_by(senders.c.sandbox, senders.c.id)
    )
    found: dict[tuple[str, bool], dict[str, str]] = {}
    for sender in (Sender(**row._asdict()) for row in tx.execute(query)):
        # a live one serves both modes; its own mode's spelling, which comes later here, stands over
        # the other's
        for sandbox in (True,) if sender.sandbox else (False, True):
            found.setdefault((sender.account_id, sandbox), {})[fold(sender.sender)] = sender.sender
    return found


def default_senders(tx: Connection, account_ids: Collection[str]) -> dict[tuple[str, bool], str]:
    """Returns each default sender by account and mode, if one is set and approved. In sandbox it
    is the sandbox's own, else the live one.
    """
    query = (
        sa.select(senders.c.account_id, senders.c.sandbox, senders.c.sender)
        .where(
            senders.c.account_id.in_(account_ids),
            senders.c.status == APPROVED,
            senders.c.is_default,
        )
        .order_by(senders.c.sandbox)
    )
    found: dict[tuple[str, bool], str] = {}
    for row in tx.execute(query):
        for mode in (True,) if row.sandbox else (False, True):
            found[row.account_id, mode] = row.sender
    return found


def as_record(sender: Sender, customer_id: str | None = None) -> dict[str, Any]:
    """Returns the fields of /sender-ids. `customer_id` is in text form, when the sender belongs
    to a Connect customer.
    """
    return {
        "id": text_id(sender),
        "sender": sender.sender,
        "country_code": sender.country_code,
        "purpose": sender.purpose,
        "customer_id": customer_id,
        "status": sender.status,
        "rejection_reason": sender.rejection_reason,
        "default": sender.is_default,
        "sandbox": sender.sandbox,
        "created_at": rfc3339(sender.created_at_ms),
        "decided_at": rfc3339_or_none(sender.decided_at_ms),
    }
