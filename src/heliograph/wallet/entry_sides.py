"""Lists entries as each of their accounts sees them, to be added up: a transfer between two
customers is one entry, and stands in the figures of both.
"""

from typing import Any

import sqlalchemy as sa

from heliograph.wallet.account_ledger import SEEN_FROM_THERE
from heliograph.wallet.tables import ledger_entries, wallets


def sides_of(within: sa.ColumnElement[bool], account_id: str | None = None) -> sa.Subquery:
    """Returns both sides of the selected entries: account_id, type, currency, credits and
    amount_minor, with the signs of the account. `account_id` (raw) is whose sides; None: all.
    """
    columns = ledger_entries.c
    own: list[sa.ColumnElement[bool]] = [within]
    there = [within, columns.counterpart_credits_after.is_not(None)]
    if account_id is not None:
        own.append(columns.account_id == account_id)
        there.append(columns.counterpart_id == account_id)
    turned: sa.ColumnElement[Any] = sa.case(SEEN_FROM_THERE, value=columns.type)
    given = sa.select(
        columns.account_id,
        columns.type,
        columns.currency,
        columns.credits,
        columns.amount_minor,
    ).where(*own)
    taken = (
        # in the taker's currency, as its own list has it
        sa.select(
            columns.counterpart_id,
            turned,
            wallets.c.currency,
            -columns.credits,
            -columns.amount_minor,
        )
        .join_from(ledger_entries, wallets, wallets.c.account_id == columns.counterpart_id)
        .where(*there)
    )
    return sa.union_all(given, taken).subquery()
