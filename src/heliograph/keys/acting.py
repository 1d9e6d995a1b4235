"""Acting for a Connect customer: with `connect.customers`, `customer_id` on some endpoints means that customer (contract section 3)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.cache import ConfigCache, Kind
from heliograph.base.errors import Forbidden, NotFound
from heliograph.base.forms import Query
from heliograph.keys.authenticate import Principal
from heliograph.keys.permissions import CONNECT_CUSTOMERS

CUSTOMER_ID_MAX: Final = 64  # characters; a well-formed one has 30
_CUSTOMER_PREFIX: Final = "cus"


class _Customer(NamedTuple):
    account_id: str  # raw
    suspended: bool
    sandbox: bool


def customer_asked_for(principal: Principal, query: Query) -> str | None:
    """`customer_id` of a query, for `acting_for`. Read it first: without the permission it raises Forbidden, whatever else is wrong with the
    query (contract section 2: 403 before 400)."""
    if query.has("customer_id"):
        _permit(principal)
    return query.text("customer_id", most=CUSTOMER_ID_MAX)


def acting_for(tx: Connection, principal: Principal, customer_id: str | None, *, changes: bool = False) -> str:
    """The raw id of the account that a request is about: the customer's (`cus_…`), or the key's own when there is no `customer_id`.

    Raises Forbidden without the permission, NotFound for somebody else's customer, for one of the other mode and for none, and, if the
    request `changes` something, Forbidden (`account_suspended`) for a suspended one."""
    if customer_id is None:
        return principal.account_id
    _permit(principal)
    return _checked(principal, _load(tx, (principal.account_id, customer_id)), changes)


async def acting_for_cached(cache: ConfigCache, principal: Principal, customer_id: str | None, *, changes: bool = False) -> str:
    """As `acting_for`, in the event loop, by the cached configuration. Raises the same, and Unavailable."""
    if customer_id is None:
        return principal.account_id
    _permit(principal)
    key = (principal.account_id, customer_id)
    customer = await cache.get(CUSTOMERS, key)
    return _checked(principal, customer, changes)


def _permit(principal: Principal) -> None:
    if CONNECT_CUSTOMERS not in principal.permissions:
        raise Forbidden(f"This key lacks the permission {CONNECT_CUSTOMERS}, which customer_id takes.")


def _checked(principal: Principal, customer: _Customer | None, changes: bool) -> str:
    if customer is None or customer.sandbox != principal.sandbox:
        raise NotFound("There is no such customer.")
    if customer.suspended and changes:
        raise Forbidden("This customer is suspended: it can be read, and nothing changed.", reason="account_suspended")
    return customer.account_id


def _load(tx: Connection, key: tuple[str, str]) -> _Customer | None:
    partner_id, customer_id = key
    raw = ids.raw_of_text(_CUSTOMER_PREFIX, customer_id)
    if raw is None:
        return None
    row = tx.execute(sa.select(accounts.c.id, accounts.c.status != "active", accounts.c.sandbox)
                     .where(accounts.c.id == raw, accounts.c.parent_id == partner_id)).one_or_none()
    return None if row is None else _Customer(row[0], bool(row[1]), bool(row[2]))


def _load_many(tx: Connection, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], _Customer]:
    return {key: customer for key in keys if (customer := _load(tx, key)) is not None}


CUSTOMERS: Final = Kind("customer", _load_many)  # by partner's raw id and customer's id
