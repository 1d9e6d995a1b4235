"""Keeps what a partner tells of a Connect customer, beside the customer's account."""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph.accounts.tables import customers


class CustomerDetails(NamedTuple):
    """Holds what is kept of a customer beside its account. Ids of accounts are raw."""

    account_id: str
    partner_id: str
    sandbox: bool
    external_ref: str | None
    label: str | None
    phone: str
    email: str | None


def store_details(tx: Connection, details: CustomerDetails) -> None:
    """Stores the details of a customer whose account was made in this transaction."""
    tx.execute(customers.insert().values(details._asdict()))
