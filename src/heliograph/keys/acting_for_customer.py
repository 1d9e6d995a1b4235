"""A partner can act for a Connect customer: with the permission `connect.customers`,
`customer_id` on some endpoints means that customer (docs/api.md, "Acting for a customer").
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import CUSTOMER_PREFIX
from heliograph.accounts.states import ACTIVE
from heliograph.accounts.tables import EXTERNAL_REF_MAX, accounts, customers
from heliograph.base import ids
from heliograph.base.errors import Forbidden, NotFound
from heliograph.base.forms import Query
from heliograph.database.cache import CachedKind, ConfigCache
from heliograph.keys.authenticate import Principal
from heliograph.keys.permissions import CONNECT_CUSTOMERS

CUSTOMER_ID_MAX: Final = EXTERNAL_REF_MAX  # characters; a well-formed id has 30


class _CustomerFacts(NamedTuple):
    account_id: str  # raw
    suspended: bool
    country_code: str


class _NamedCustomer(NamedTuple):
    """Identifies a customer as a request names it."""

    partner_id: str  # raw
    sandbox: bool
    name: str  # its id in text form, or its `external_ref`


def customer_asked_for(
    principal: Principal, query: Query, *, takes_connect: bool = True
) -> str | None:
    """Returns `customer_id` of a query, if it has one, for `acting_for`. Read it first: without the
    permission it raises Forbidden, whatever else is wrong with the query (docs/api.md, "Order of
    judgement": 403 before 400).
    """
    if takes_connect and query.has("customer_id"):
        _permit(principal)
    return query.text("customer_id", most=CUSTOMER_ID_MAX)


def acting_for(
    tx: Connection,
    principal: Principal,
    customer_id: str | None,
    *,
    changes: bool = False,
    takes_connect: bool = True,
) -> str:
    """Returns the raw id of the account that a request is about: the customer's, or the key's own
    when there is no `customer_id`, which is an id (`cus_…`) or an `external_ref`. With
    `takes_connect`, it takes the permission `connect.customers` beside the endpoint's own.

    Raises Forbidden without the permission, NotFound for somebody else's customer, for one of the
    other mode and for none, and, if the request `changes` something, Forbidden
    (`account_suspended`) for a suspended one.
    """
    if customer_id is None:
        return principal.account_id
    if takes_connect:
        _permit(principal)
    return _checked(_load(tx, _customer_named(principal, customer_id)), changes)


async def acting_for_cached(
    cache: ConfigCache, principal: Principal, customer_id: str | None, *, changes: bool = False
) -> str:
    """Does what `acting_for` does, in the event loop, by the cached configuration. Raises the
    same, and Unavailable.
    """
    if customer_id is None:
        return principal.account_id
    _permit(principal)
    customer = await cache.get(CUSTOMERS, _customer_named(principal, customer_id))
    return _checked(customer, changes)


def country_of(tx: Connection, principal: Principal, customer_id: str | None) -> str:
    """Returns the country of the account that a request is about, by whose rules a number with a
    leading 0 is read (docs/api.md, "Phone numbers").

    For an unknown customer it is the country of the key's own account: what is wrong with the form
    is told before what is not found.
    """
    customer = None if customer_id is None else _load(tx, _customer_named(principal, customer_id))
    return principal.country_code if customer is None else customer.country_code


async def country_of_cached(cache: ConfigCache, principal: Principal, customer_id: str) -> str:
    """Does what `country_of` does, in the event loop, by the cached configuration. Raises
    Unavailable.
    """
    customer = await cache.get(CUSTOMERS, _customer_named(principal, customer_id))
    return principal.country_code if customer is None else customer.country_code


def _customer_named(principal: Principal, customer_id: str) -> _NamedCustomer:
    return _NamedCustomer(principal.account_id, principal.sandbox, customer_id)


def _permit(principal: Principal) -> None:
    if CONNECT_CUSTOMERS not in principal.permissions:
        raise Forbidden(
            f"This key lacks the permission {CONNECT_CUSTOMERS}, which a request with customer_id"
            " needs."
        )


def _checked(customer: _CustomerFacts | None, changes: bool) -> str:
    if customer is None:
        raise NotFound("There is no such customer.")
    if customer.suspended and changes:
        raise Forbidden(
            "This customer is suspended: it can be read, but not changed.",
            reason="account_suspended",
        )
    return customer.account_id


def _load(tx: Connection, customer: _NamedCustomer) -> _CustomerFacts | None:
    """Finds a customer by its id, else by its `external_ref`. Both are looked up among the
    partner's own, so neither finds anybody else's.
    """
    raw = ids.raw_of_text(CUSTOMER_PREFIX, customer.name)
    facts = None if raw is None else _one(tx, customer, accounts.c.id == raw)
    ref = customer.name.strip()
    if facts is None and 1 <= len(ref) <= EXTERNAL_REF_MAX and "\0" not in ref:
        facts = _one(
            tx,
            customer,
            accounts.c.id
            == sa.select(customers.c.account_id)
            .where(
                customers.c.partner_id == customer.partner_id,
                customers.c.sandbox.is_(customer.sandbox),
                customers.c.external_ref == ref,
            )
            .scalar_subquery(),
        )
    return facts


def _one(
    tx: Connection, asked: _NamedCustomer, which: sa.ColumnElement[bool]
) -> _CustomerFacts | None:
    row = tx.execute(
        sa.select(
            accounts.c.id,
            (accounts.c.status != ACTIVE).label("suspended"),
            accounts.c.country_code,
        ).where(
            which, accounts.c.parent_id == asked.partner_id, accounts.c.sandbox.is_(asked.sandbox)
        )
    ).one_or_none()
    return None if row is None else _CustomerFacts(row.id, bool(row.suspended), row.country_code)


def _load_many(
    tx: Connection, asked: Sequence[_NamedCustomer]
) -> dict[_NamedCustomer, _CustomerFacts]:
    return {each: customer for each in asked if (customer := _load(tx, each)) is not None}


CUSTOMERS: Final = CachedKind("customer", _load_many)  # by partner, mode and how it is named
