"""Selects rows of all accounts by an index that begins with the account."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts


def of_every_account(tx: Connection, account_id: sa.Column[Any]) -> sa.ColumnElement[bool]:
    """Returns the condition for rows of all accounts, by an index that begins with the account. To
    PostgreSQL they are one array, which takes a fifth less time than a join with 10,000 of them.
    """
    every = sa.select(accounts.c.id)
    if tx.dialect.name == "postgresql":
        return account_id == sa.any_(
            sa.func.array(every.scalar_subquery(), type_=sa.ARRAY(account_id.type))
        )
    return account_id.in_(every)
