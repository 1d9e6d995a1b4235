"""Describes customers as their partner sees them, and finds them, always by partner and mode."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import CUSTOMER_PREFIX, text_of_id
from heliograph.accounts.states import ACTIVE, SUSPENDED
from heliograph.accounts.tables import accounts, customers
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import Forbidden, NotFound
from heliograph.base.paging import PageWanted
from heliograph.database.reads import records_of
from heliograph.wallet import money
from heliograph.wallet.tables import wallets


class Customer(NamedTuple):
    """Holds a customer of a partner. `account_id` is raw. `suspended` is true if the customer or
    its partner is suspended.
    """

    account_id: str
    external_ref: str | None
    label: str | None
    full_name: str
    phone: str
    country_code: str
    email: str | None
    balance_minor: int
    currency: str
    sms_credits: int
    suspended: bool
    sandbox: bool
    created_at_ms: int


_partner: Final = accounts.alias("partner")
_FIELDS: Final = (
    customers.c.account_id,
    customers.c.external_ref,
    customers.c.label,
    accounts.c.name.label("full_name"),
    customers.c.phone,
    accounts.c.country_code,
    customers.c.email,
    sa.func.coalesce(wallets.c.sandbox_balance_minor, wallets.c.balance_minor).label(
        "balance_minor"
    ),
    wallets.c.currency,
    sa.func.coalesce(wallets.c.sandbox_credits, wallets.c.sms_credits).label("sms_credits"),
    sa.or_(accounts.c.status != ACTIVE, _partner.c.status != ACTIVE).label("suspended"),
    customers.c.sandbox,
    accounts.c.created_at_ms,
)
_JOINED: Final = (
    customers.join(accounts, accounts.c.id == customers.c.account_id)
    .join(wallets, wallets.c.account_id == customers.c.account_id)
    .join(_partner, _partner.c.id == customers.c.partner_id)
)


_FOUND_BY: Final = (
    accounts.c.name,
    customers.c.label,
    customers.c.external_ref,
    customers.c.phone,
    customers.c.email,
)
NEEDLE_MAX: Final = 128  # of a search; the longest field that is searched


def _customers_of(partner_id: str, sandbox: bool) -> sa.Select[Any]:
    return (
        sa.select(*_FIELDS)
        .select_from(_JOINED)
        .where(customers.c.partner_id == partner_id, customers.c.sandbox.is_(sandbox))
    )


def by_id(tx: Connection, partner_id: str, account_id: str, *, sandbox: bool) -> Customer:
    """Returns a partner's customer with this id (raw). Raises NotFound."""
    row = tx.execute(
        _customers_of(partner_id, sandbox).where(customers.c.account_id == account_id)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such customer.")
    return Customer(**row._asdict())


def of_partner(tx: Connection, partner_id: str, customer_text_id: str) -> Customer:
    """Returns a partner's customer of either mode by its id in text form. Raises NotFound."""
    raw = ids.raw_of_text(CUSTOMER_PREFIX, customer_text_id)
    for sandbox in (False, True) if raw is not None else ():
        row = tx.execute(
            _customers_of(partner_id, sandbox).where(customers.c.account_id == raw)
        ).one_or_none()
        if row is not None:
            return Customer(**row._asdict())
    raise NotFound("There is no such customer.")


def require_active(customer: Customer) -> None:
    """Raises Forbidden for a customer that can be read, but not changed."""
    if customer.suspended:
        raise Forbidden(
            "This customer is suspended: it can be read, but not changed.",
            reason="account_suspended",
        )


def with_ref(
    tx: Connection, partner_id: str, external_ref: str, *, sandbox: bool
) -> Customer | None:
    """Returns the partner's customer with this `external_ref` in the given mode, or None.
    `partner_id` is raw.
    """
    row = tx.execute(
        _customers_of(partner_id, sandbox).where(customers.c.external_ref == external_ref)
    ).one_or_none()
    return None if row is None else Customer(**row._asdict())


def accounts_with_ref(
    tx: Connection, external_ref: str, *, limit: int, before_id: str | None = None
) -> list[str]:
    """Returns the newest accounts (raw ids) of the customers, of whatever partner, that have this
    `external_ref`: those made before the one with the raw id `before_id`. It reads all customers,
    as a search by a name reads all names.
    """
    owner_id = customers.c.account_id
    query = sa.select(owner_id).where(customers.c.external_ref == external_ref)
    if before_id is not None:
        query = query.where(owner_id < before_id)
    return list(tx.execute(query.distinct().order_by(owner_id.desc()).limit(limit)).scalars())


def names_of(tx: Connection, partner_id: str, account_ids: Iterable[str]) -> dict[str, str]:
    """Returns the names of those of these accounts that are the partner's customers, of either
    mode. All ids are raw.
    """
    query = (
        sa.select(customers.c.account_id, accounts.c.name)
        .join(accounts, accounts.c.id == customers.c.account_id)
        .where(customers.c.partner_id == partner_id, customers.c.account_id.in_(list(account_ids)))
    )
    return {row.account_id: row.name for row in tx.execute(query)}


def page(
    tx: Connection,
    partner_id: str,
    wanted: PageWanted,
    *,
    sandbox: bool,
    external_ref: str | None = None,
    needle: str | None = None,
) -> list[Customer]:
    """Returns at most `limit` + 1 customers, newest first. The one too many tells that there is
    a next page. `needle` is a part of a name, label, reference, phone or email address.
    """
    query = (
        _customers_of(partner_id, sandbox)
        .order_by(customers.c.account_id.desc())
        .limit(wanted.limit + 1)
    )
    if external_ref is not None:
        query = query.where(customers.c.external_ref == external_ref)
    if needle is not None:
        query = query.where(
            sa.or_(
                *(
                    sa.func.lower(column).contains(needle.lower(), autoescape=True)
                    for column in _FOUND_BY
                )
            )
        )
    if wanted.before is not None:
        query = query.where(customers.c.account_id < wanted.before)
    return records_of(Customer, tx.execute(query))


def as_record(customer: Customer) -> dict[str, Any]:
    """Returns the fields of /connect/customers (docs/api.md, "Connect")."""
    return {
        "id": text_of_id(customer.account_id, is_customer=True),
        "external_ref": customer.external_ref,
        "label": customer.label,
        "full_name": customer.full_name,
        "phone": customer.phone,
        "country_code": customer.country_code,
        "email": customer.email,
        "wallet": {
            "balance": money.to_number(customer.balance_minor, customer.currency),
            "currency": customer.currency,
        },
        "sms_credits": customer.sms_credits,
        "status": SUSPENDED if customer.suspended else ACTIVE,
        "sandbox": bool(customer.sandbox),
        "created_at": rfc3339(customer.created_at_ms),
    }
