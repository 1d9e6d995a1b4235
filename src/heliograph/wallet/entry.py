"""Defines a ledger entry: its columns, and the statements that read and add it. Nothing else
inserts into `ledger_entries`: the transactions that accept sends and pay refunds run INSERT_ENTRIES
too.
"""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph.database.hot import run_in
from heliograph.database.statements import BigInt, Id, Insert, Row, Text
from heliograph.wallet.tables import ledger_entries


class Entry(Row, frozen=True):
    """Holds one transfer, as the account sees it: what it gained is positive. Ids are raw."""

    id: Id
    account_id: Id
    counterpart_id: Id
    type: Text
    currency: Text
    amount_minor: BigInt
    credits: BigInt
    balance_after_minor: BigInt
    credits_after: BigInt
    description: Text
    created_at_ms: BigInt
    reference: Text | None = None
    # of a transfer between two customers only
    counterpart_balance_after_minor: BigInt | None = None
    counterpart_credits_after: BigInt | None = None


INSERT_ENTRIES: Final = Insert(ledger_entries.name, Entry)
ENTRY_COLUMNS: Final = [ledger_entries.c[name] for name in Entry.__struct_fields__]


def add_entry(tx: Connection, entry: Entry) -> None:
    """Stores an entry, in an ordinary transaction."""
    run_in(tx, lambda hot: INSERT_ENTRIES.rows(hot, [entry]))
