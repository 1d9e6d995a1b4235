"""Proves the ledger: every wallet's figures must be what its entries add up to, one after the
other.

It reads the entries once, account by account, in the order of an index, and keeps of an account
only what does not fit yet. So ten million entries take no more memory than ten.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.reads import raw_id, stream, stream_records
from heliograph.wallet.ledger import BANK_ID, ID_PREFIX, ISSUANCE_ID, SALES_ID
from heliograph.wallet.tables import ledger_entries, wallets

DISCREPANCIES_MAX: Final = 100  # reported; whoever has so many needs to see why, not how many
_AN_ACCOUNT: Final = attrgetter("account_id")
# in place of a currency: of credits alone, whose giver may have a wallet in another one
_NO_MONEY: Final = ""


class Discrepancy(NamedTuple):
    """Describes something that does not agree. `account_id` is raw."""

    account_id: str
    what: str


class _Side(NamedTuple):
    """Says how an entry changed one of its two accounts. If `entry_id` is "", it is the wallet
    itself, with its stored figures.
    """

    account_id: str
    entry_id: str
    currency: str
    amount_minor: int
    credits: int
    balance_after_minor: int
    credits_after: int


class _Holding(NamedTuple):
    """Holds what a wallet has, in its currency's smallest unit and in credits."""

    balance_minor: int
    credits: int


def verify(tx: Connection) -> list[Discrepancy]:
    """Returns what is wrong with wallets and entries: nothing, if the ledger is sound, and at
    most DISCREPANCIES_MAX.
    """
    sides = merge(
        _wallets(tx), _own_sides(tx), _other_sides(tx), key=attrgetter("account_id", "entry_id")
    )
    found = (
        Discrepancy(account_id, what)
        for account_id, of_account in groupby(sides, key=_AN_ACCOUNT)
        for what in _faults(of_account)
    )
    return [*islice(found, DISCREPANCIES_MAX), *_find_one_sided(tx)][:DISCREPANCIES_MAX]


def size(tx: Connection) -> dict[str, int]:
    """Returns how many wallets and entries there are."""
    return {
        f"{table.name}": tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in (wallets, ledger_entries)
    }


def _faults(sides: Iterable[_Side]) -> Iterator[str]:
    """Yields what is wrong with one account. Every entry leads from the figures before it to
    those after it: from nothing, and each once, they must lead to what the wallet holds,
    whatever the order in which entries of one moment are read.
    """
    wallet: _Side | None = None
    # figures → how often entries have led there, less how often from there
    open_figures = {_Holding(0, 0): 1}
    total_minor = total_credits = 0
    for side in sides:
        if not side.entry_id:
            wallet = side
            continue
        total_minor += side.amount_minor
        total_credits += side.credits
        after = _Holding(side.balance_after_minor, side.credits_after)
        before = _Holding(after.balance_minor - side.amount_minor, after.credits - side.credits)
        _step(open_figures, before, -1)
        _step(open_figures, after, 1)
        if min(after) < 0:
            yield f"{_entry(side)} leaves a figure below zero"
        if wallet is not None and side.currency not in (wallet.currency, _NO_MONEY):
            yield f"{_entry(side)} is in {side.currency}, but the wallet is in {wallet.currency}"
    if wallet is None:
        yield "has entries, but no wallet"
        return
    holds = _Holding(wallet.balance_after_minor, wallet.credits_after)
    if holds != _Holding(total_minor, total_credits):
        yield (
            f"the wallet holds {holds.credits} credits and {holds.balance_minor} minor units, but"
            f" its entries come to {total_credits} and {total_minor}"
        )
    elif open_figures != {holds: 1}:
        yield "the figures after its entries do not follow from one another"


def _step(open_figures: dict[_Holding, int], figures: _Holding, by: int) -> None:
    count = open_figures.get(figures, 0) + by
    if count:
        open_figures[figures] = count
    else:
        del open_figures[figures]


def _entry(side: _Side) -> str:
    return f"the entry {ids.text_of_raw(ID_PREFIX, side.entry_id)}"


def _wallets(tx: Connection) -> Iterator[_Side]:
    columns = wallets.c
    query = sa.select(
        raw_id(columns.account_id).label("account_id"),
        columns.currency,
        columns.balance_minor,
        columns.sms_credits,
    ).order_by(columns.account_id)
    for wallet in stream(tx, query):
        yield _Side(
            wallet.account_id,
            "",
            wallet.currency,
            amount_minor=0,
            credits=0,
            balance_after_minor=wallet.balance_minor,
            credits_after=wallet.sms_credits,
        )


def _own_sides(tx: Connection) -> Iterator[_Side]:
    columns = ledger_entries.c
    query = sa.select(
        raw_id(columns.account_id).label("account_id"),
        raw_id(columns.id).label("entry_id"),
        columns.currency,
        columns.amount_minor,
        columns.credits,
        columns.balance_after_minor,
        columns.credits_after,
    ).order_by(columns.account_id, columns.id)
    return stream_records(tx, query, _Side)


def _other_sides(tx: Connection) -> Iterator[_Side]:
    """Yields the other side of transfers between two customers: what the counterpart gained."""
    columns = ledger_entries.c
    currency = sa.case((columns.amount_minor == 0, _NO_MONEY), else_=columns.currency)
    query = sa.select(
        raw_id(columns.counterpart_id).label("account_id"),
        raw_id(columns.id).label("entry_id"),
        currency.label("currency"),
        (-columns.amount_minor).label("amount_minor"),
        (-columns.credits).label("credits"),
        columns.counterpart_balance_after_minor.label("balance_after_minor"),
        columns.counterpart_credits_after.label("credits_after"),
    )
    query = query.where(columns.counterpart_credits_after.is_not(None)).order_by(
        columns.counterpart_id, columns.id
    )
    return stream_records(tx, query, _Side)


def _find_one_sided(tx: Connection) -> Iterator[Discrepancy]:
    """Finds entries without the figures of a counterpart that is a customer, and entries with
    figures of a counterpart that is an account of the service.
    """
    columns = ledger_entries.c
    of_service = columns.counterpart_id.in_([ISSUANCE_ID, SALES_ID, BANK_ID])
    lacks_figures = sa.or_(
        columns.counterpart_credits_after.is_(None),
        columns.counterpart_balance_after_minor.is_(None),
    )
    has_figures = sa.or_(
        columns.counterpart_credits_after.is_not(None),
        columns.counterpart_balance_after_minor.is_not(None),
    )
    query = (
        sa.select(columns.account_id, columns.id)
        .where(sa.or_(sa.and_(of_service, has_figures), sa.and_(~of_service, lacks_figures)))
        .limit(DISCREPANCIES_MAX)
    )
    for account_id, entry_id in tx.execute(query):
        yield Discrepancy(
            account_id,
            f"the entry {ids.text_of_raw(ID_PREFIX, entry_id)} does not say what it did to its"
            " counterpart",
        )
