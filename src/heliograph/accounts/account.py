"""Describes accounts, and finds them."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.states import ACTIVE, CLOSED
from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import Forbidden, InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

PREFIX: Final = "acc"
CUSTOMER_PREFIX: Final = "cus"  # of an account with a parent: a Connect customer
_NAMESAKES_SHOWN_MAX: Final = 5


class Account(NamedTuple):
    """Holds a tenant. `id` and `parent_id` are raw. If `countries` is None, it may send wherever a
    route leads. `sandbox` marks an account that exists in sandbox only: a customer that was
    provisioned there (docs/api.md, "Sandbox"), or somebody who has signed up and has not been let
    live yet. Every other account has both modes.
    """

    id: str
    parent_id: str | None
    name: str
    country_code: str
    status: str  # as its column has it: ACTIVE or SUSPENDED
    max_tier: str
    countries: tuple[str, ...] | None
    daily_credits: int | None
    time_zone: str
    created_at_ms: int
    sandbox: bool
    # one-time passwords that may stay unverified in any hour; None: as otp/unverified_allowance.py
    # has it
    otp_unverified: int | None
    closed_at_ms: int | None  # then its status is suspended, for good; None: it is open
    transactional: bool  # it may send texts that reach who has opted out

    @property
    def shown_status(self) -> str:
        """Returns the status that operators are shown: active, suspended or closed."""
        return self.status if self.closed_at_ms is None else CLOSED


class AccountClosed(Forbidden):
    """This account is closed: nothing of it can be changed any more."""

    reason = "account_suspended"  # what clients know it by (docs/api.md, "Suspended accounts")


def of_row(row: sa.Row[Any]) -> Account:
    """Returns the Account of a whole row of `accounts`."""
    account = Account(**row._asdict())
    stored: Any = account.countries  # a text, until here
    return account._replace(countries=None if stored is None else tuple(stored.split(",")))


def text_id(account: Account) -> str:
    """Returns the account's id in text form: `acc_…`, or `cus_…` for a Connect customer."""
    return text_of_id(account.id, is_customer=account.parent_id is not None)


def text_of_id(account_id: str, *, is_customer: bool) -> str:
    """Returns an account's id in text form, made from its raw id."""
    return ids.text_of_raw(CUSTOMER_PREFIX if is_customer else PREFIX, account_id)


def by_id(tx: Connection, account_id: str) -> Account:
    """Returns the account with this id (raw). Raises NotFound."""
    row = tx.execute(sa.select(accounts).where(accounts.c.id == account_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such account.")
    return of_row(row)


def by_ids(tx: Connection, account_ids: Collection[str]) -> dict[str, Account]:
    """Returns which of these accounts (raw ids) exist, by raw id."""
    query = sa.select(accounts).where(accounts.c.id.in_(account_ids))
    return {account.id: account for account in map(of_row, tx.execute(query))}


def customer_of(tx: Connection, partner_ids: Collection[str], customer_text_id: str) -> Account:
    """Returns the customer with this id in text form (`cus_…`) of one of these partners, whose ids
    are raw, unless it is closed. Raises NotFound.
    """
    raw = ids.raw_of_text(CUSTOMER_PREFIX, customer_text_id)
    if raw is not None and partner_ids:
        found = tx.execute(
            sa.select(accounts).where(
                accounts.c.id == raw,
                accounts.c.parent_id.in_(partner_ids),
                accounts.c.closed_at_ms.is_(None),
            )
        ).one_or_none()
        if found is not None:
            return of_row(found)
    raise NotFound("There is no such account.")


def lock(tx: Connection, account_id: str) -> Account:
    """Returns the account, kept from every other change until the transaction ends. Raises
    NotFound.

    The lock is FOR NO KEY UPDATE: rows that refer to the account (keys, ledger entries) can still
    be added meanwhile.
    """
    row = tx.execute(
        sa.select(accounts).where(accounts.c.id == account_id).with_for_update(key_share=True)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such account.")
    return of_row(row)


def keep_open(tx: Connection, account_id: str) -> Account:
    """Returns the account, kept from being closed until the transaction ends; others may do so
    at once. Raises NotFound, AccountClosed.
    """
    row = tx.execute(
        sa.select(accounts).where(accounts.c.id == account_id).with_for_update(read=True)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such account.")
    return require_open(of_row(row))


def require_open(account: Account) -> Account:
    """Returns the account itself. Raises AccountClosed."""
    if account.closed_at_ms is not None:
        raise AccountClosed(
            f"The account {text_id(account)} has been closed since {rfc3339(account.closed_at_ms)}."
            " A closed account is not opened again."
        )
    return account


def require_mode(account: Account, *, sandbox: bool) -> None:
    """Raises InvalidRequest for something of live mode in an account that is in sandbox only."""
    if not account.sandbox or sandbox:
        return
    if account.parent_id is None:
        raise invalid_field(
            "mode", "must be sandbox until whoever runs this service lets you go live"
        )
    raise invalid_field("mode", "must be sandbox for a customer that was provisioned in sandbox")


def is_active(tx: Connection, account: Account) -> bool:
    """Returns whether an account, and the partner whose customer it may be, are active."""
    partner = account.parent_id and by_id(tx, account.parent_id)
    return account.status == ACTIVE and (not partner or partner.status == ACTIVE)


def find(tx: Connection, id_or_name: str) -> Account:
    """Returns the account with this id in text form, else the only one with this name. Raises
    NotFound, and InvalidRequest when several have the name.
    """
    raw = ids.raw_of_text(PREFIX, id_or_name) or ids.raw_of_text(CUSTOMER_PREFIX, id_or_name)
    by_text_id = (
        tx.execute(sa.select(accounts).where(accounts.c.id == raw)).one_or_none()
        if raw is not None
        else None
    )
    if by_text_id is not None and text_id(of_row(by_text_id)) == id_or_name:
        return of_row(by_text_id)
    found = with_name(tx, id_or_name)
    if not found:
        raise NotFound(f"There is no account with the id or name {quote_value(id_or_name)}.")
    if len(found) > 1:
        raise InvalidRequest(
            f"Several accounts are named {quote_value(id_or_name)}; say which by its id:"
            f" {', '.join(map(text_id, found))}."
        )
    return found[0]


def with_text_id(tx: Connection, account_text_id: str) -> Account:
    """Returns the account with this id in text form, of whatever kind. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, account_text_id) or ids.raw_of_text(
        CUSTOMER_PREFIX, account_text_id
    )
    found = None if raw is None else by_id(tx, raw)
    if found is None or text_id(found) != account_text_id:
        raise NotFound("There is no such account.")
    return found


def with_name(tx: Connection, name: str) -> list[Account]:
    """Returns the first few accounts with this name, oldest first, for names need not be unique."""
    return [
        of_row(row)
        for row in tx.execute(
            sa.select(accounts)
            .where(accounts.c.name == name)
            .order_by(accounts.c.id)
            .limit(_NAMESAKES_SHOWN_MAX)
        )
    ]


def page(
    tx: Connection, *, limit: int, parent_id: str | None = None, before_id: str | None = None
) -> list[Account]:
    """Returns at most `limit` accounts, newest first: those made before the one with the raw id
    `before_id`. With `parent_id`, it returns only a partner's customers.
    """
    query = sa.select(accounts).order_by(accounts.c.id.desc()).limit(limit)
    if parent_id is not None:
        query = query.where(accounts.c.parent_id == parent_id)
    if before_id is not None:
        query = query.where(accounts.c.id < before_id)
    return [of_row(row) for row in tx.execute(query)]


def search_by_name(
    tx: Connection, part: str, *, limit: int, before_id: str | None = None
) -> list[Account]:
    """Returns at most `limit` accounts that have this text in their name, whatever its case, newest
    first: those made before the one with the raw id `before_id`. It reads all names.
    """
    query = sa.select(accounts).order_by(accounts.c.id.desc()).limit(limit)
    if part:
        query = query.where(accounts.c.name.icontains(part, autoescape=True))
    if before_id is not None:
        query = query.where(accounts.c.id < before_id)
    return [of_row(row) for row in tx.execute(query)]


def waiting_to_go_live(tx: Connection, *, limit: int, after_id: str | None = None) -> list[Account]:
    """Returns at most `limit` open accounts that have signed up and are in sandbox only, oldest
    first: those made after the one with the raw id `after_id`.
    """
    query = (
        sa.select(accounts)
        .where(
            accounts.c.sandbox,
            accounts.c.parent_id.is_(None),
            accounts.c.closed_at_ms.is_(None),
        )
        .order_by(accounts.c.id)
        .limit(limit)
    )
    if after_id is not None:
        query = query.where(accounts.c.id > after_id)
    return [of_row(row) for row in tx.execute(query)]
