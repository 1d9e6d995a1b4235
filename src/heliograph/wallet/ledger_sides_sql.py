"""Puts together the query that reads the ledger as both accounts of a transfer see it."""

from typing import Any, Final

import sqlalchemy as sa

from heliograph.wallet.tables import ledger_entries, wallets

# A transfer stands in the ledger once, with the signs of the account that it was written for; the
# other one sees it turned round.
SEEN_FROM_THERE: Final = {"transfer_in": "transfer_out", "transfer_out": "transfer_in"}


def sides_of(within: sa.ColumnElement[bool], account_id: str | None = None) -> sa.Subquery:
    """Returns both sides of the selected entries: account_id, type, currency, credits and
    amount_minor, with the signs of the account. `account_id` (raw) is whose sides these are; None
    means all.
    """
    columns = ledger_entries.c
    own: list[sa.ColumnElement[bool]] = [within]
    other_side = [within, columns.counterpart_credits_after.is_not(None)]
    if account_id is not None:
        own.append(columns.account_id == account_id)
        other_side.append(columns.counterpart_id == account_id)
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
        .where(*other_side)
    )
    return sa.union_all(given, taken).subquery()
