"""Writes ledger entries in the language of beancount (version 2 or 3), a program for double-entry
accounts. No database is read here, except for names.

What an account holds is what the service owes it, so it stands below zero. SMS credits are a
commodity of their own. At the end, each account is asserted to hold what its entries say that it
held after them. So `bean-check` proves the file. A file of one account asserts that one only: the
others have entries that are not in the file.
"""

from collections import Counter
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS, date_in_utc, rfc3339
from heliograph.wallet.entry import Entry
from heliograph.wallet.files.ledger_export import AccountNames, ExportWanted
from heliograph.wallet.ledger import BANK_ID, ID_PREFIX, ISSUANCE_ID, SALES_ID
from heliograph.wallet.money import to_text

CREDITS: Final = "SMS-CREDITS"
OPENING: Final = "Equity:Opening-Balances"
# accounts are opened then, so that no entry is older
EPOCH: Final = "1970-01-01"
_CREDITS_OF: Final = {
    ISSUANCE_ID: "Equity:Credits-Issued",
    SALES_ID: "Equity:Credits-Used",
    BANK_ID: "Equity:Credits-Issued",
}
_MONEY_OF: Final = {
    ISSUANCE_ID: "Income:Credits-Sold",
    SALES_ID: "Income:Messages",
    BANK_ID: "Assets:Bank",
}


class _HeldFigure(NamedTuple):
    """Names one figure of an account: its money in a currency, or its credits."""

    account: str
    commodity: str


class BeancountLedger:
    """Makes the file of what is wanted. Before the time that it covers, accounts held something."""

    def __init__(self, wanted: ExportWanted) -> None:
        span = wanted.span
        self._only_id = wanted.account_id
        self._names = AccountNames()
        self._opens_on = EPOCH if span.since_ms is None else date_in_utc(span.since_ms)
        self._last_ms = span.since_ms or 0
        self._opened: set[str] = set()
        # figure → by value, how often it was changed to that value less how often from it: of many
        # entries, in whatever order, only the first value (-1) and the last one (1) are left
        self._open_figures: dict[_HeldFigure, Counter[int]] = {}
        self._first_before: dict[_HeldFigure, int] = {}

    def head(self) -> str:
        return 'option "title" "Heliograph ledger"\n' + "".join(
            self._open(account)
            for account in sorted({OPENING, *_CREDITS_OF.values(), *_MONEY_OF.values()})
        )

    def lines(self, tx: Connection, entries: list[Entry]) -> str:
        return "".join(self._transaction(tx, entry) for entry in entries)

    def foot(self) -> str:
        """Returns what accounts held before, and the assertions of what they hold after all."""
        ends_on = date_in_utc(self._last_ms + DAY_MS)
        parts = []
        for side, left in self._open_figures.items():
            first = self._first_before[side]
            before = next((figure for figure, count in left.items() if count < 0), first)
            after = next((figure for figure, count in left.items() if count > 0), before)
            if before:
                parts.append(
                    f'\n{self._opens_on} * "Held before"\n'
                    f"  {side.account}  {_amount_text(-before, side.commodity)}\n"
                    f"  {OPENING}  {_amount_text(before, side.commodity)}\n"
                )
            parts.append(
                f"\n{ends_on} balance {side.account}  {_amount_text(-after, side.commodity)}\n"
            )
        return "".join(parts)

    def _transaction(self, tx: Connection, entry: Entry) -> str:
        self._last_ms = max(self._last_ms, entry.created_at_ms)
        account, opened = self._customer(tx, entry.account_id)
        is_service = entry.counterpart_id in _MONEY_OF
        if is_service:
            counterpart_credits = _CREDITS_OF[entry.counterpart_id]
            counterpart_money = _MONEY_OF[entry.counterpart_id]
        else:
            counterpart_credits, also_opened = self._customer(tx, entry.counterpart_id)
            counterpart_money = counterpart_credits
            opened += also_opened
        moment = rfc3339(entry.created_at_ms)
        day = date_in_utc(entry.created_at_ms)
        lines = f"\n{day} * {_text(entry.type)} {_text(entry.description)}\n"
        lines += f'  id: "{ids.text_of_raw(ID_PREFIX, entry.id)}"\n  time: "{moment}"\n'
        if entry.reference is not None:
            lines += f"  reference: {_text(entry.reference)}\n"
        for commodity, moved, counterpart in (
            (CREDITS, entry.credits, counterpart_credits),
            (entry.currency, entry.amount_minor, counterpart_money),
        ):
            if moved:
                lines += f"  {account}  {_amount_text(-moved, commodity)}\n"
                lines += f"  {counterpart}  {_amount_text(moved, commodity)}\n"
        if self._only_id in (None, entry.account_id):
            self._follow(_HeldFigure(account, CREDITS), entry.credits, entry.credits_after)
            money = _HeldFigure(account, entry.currency)
            self._follow(money, entry.amount_minor, entry.balance_after_minor)
        if self._only_id in (None, entry.counterpart_id):
            self._follow_counterpart(entry, counterpart_credits)
        return opened + lines

    def _follow_counterpart(self, entry: Entry, account: str) -> None:
        """Remembers what a transfer changed of the other customer."""
        if entry.counterpart_credits_after is not None:
            credits = _HeldFigure(account, CREDITS)
            self._follow(credits, -entry.credits, entry.counterpart_credits_after)
        if entry.counterpart_balance_after_minor is not None and entry.amount_minor:
            money = _HeldFigure(account, entry.currency)
            self._follow(money, -entry.amount_minor, entry.counterpart_balance_after_minor)

    def _follow(self, side: _HeldFigure, moved: int, after: int) -> None:
        """Remembers that a figure was changed."""
        if not moved:
            return
        left = self._open_figures.setdefault(side, Counter())
        self._first_before.setdefault(side, after - moved)
        for figure, by in ((after - moved, -1), (after, 1)):
            left[figure] += by
            if not left[figure]:
                del left[figure]

    def _customer(self, tx: Connection, account_id: str) -> tuple[str, str]:
        """Returns an account in the file, and what opens it where it is named first."""
        named = self._names.account_of(tx, account_id)
        account = f"Liabilities:Customers:{named.text_id.replace('_', '-').upper()}"
        if account in self._opened:
            return account, ""
        return account, "\n" + self._open(account) + f"  name: {_text(named.name)}\n"

    def _open(self, account: str) -> str:
        self._opened.add(account)
        return f"{EPOCH} open {account}\n"


def _amount_text(figure: int, commodity: str) -> str:
    return f"{figure} {CREDITS}" if commodity == CREDITS else to_text(figure, commodity)


def _text(text: str) -> str:
    """Returns a string of beancount. Nothing in it ends it."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
