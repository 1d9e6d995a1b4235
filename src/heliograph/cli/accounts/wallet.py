"""Defines the commands `heliograph wallet …`."""

from decimal import Decimal
from functools import partial
from typing import Final

import click

from heliograph.cli.accounts.wallet_statement import statement
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.ledger_entry import post_entry
from heliograph.cli.output import show_list
from heliograph.cli.values import (
    Money,
    account_option,
    page_options,
    reference_options,
    span_options,
)

command = Noun(
    "wallet", help="Money of an account, in its wallet's currency. Each change is a ledger entry."
)
command.add_command(statement)

# wallet/tables.py: ENTRY_TYPES, which cannot be imported where help must be there at once
_TYPES: Final = (
    "topup",
    "credit_purchase",
    "credit_grant",
    "sms_charge",
    "sms_refund",
    "transfer_in",
    "transfer_out",
    "adjustment",
)
_COLUMNS: Final = (
    "id",
    "created_at",
    "type",
    "amount",
    "currency",
    "credits",
    "balance_after",
    "credits_after",
    "reference",
    "description",
)


@command.command(
    "topup",
    epilog=examples(
        "wallet topup --account 'Amina Foods' --amount 250.50 --reason 'Bank transfer' --reference"
        " bt-99"
    ),
)
@account_option
@click.option(
    "--amount", required=True, type=Money(), metavar="X", help="How much, in the wallet's currency."
)
@reference_options
def topup(
    run: CommandRun, account: str, amount: Decimal, reason: str, reference: str | None
) -> None:
    """Add money to an account's wallet."""
    from heliograph.wallet import ledger

    post_entry(
        run, account, partial(ledger.topup, amount=amount, reason=reason, reference=reference)
    )


@command.command(
    "adjust",
    epilog=examples("wallet adjust --account 'Amina Foods' --amount -10 --reason 'Bank charges'"),
)
@account_option
@click.option(
    "--amount",
    required=True,
    type=Money(),
    metavar="X",
    help="How much to add. A negative amount takes money away, but never more than there is.",
)
@reference_options
def adjust(
    run: CommandRun, account: str, amount: Decimal, reason: str, reference: str | None
) -> None:
    """Correct the money in an account's wallet, up or down."""
    from heliograph.wallet import ledger

    post_entry(
        run,
        account,
        partial(ledger.adjust_money, amount=amount, reason=reason, reference=reference),
    )


@command.command(
    "transactions",
    epilog=examples(
        "wallet transactions --account 'Amina Foods' --since 7d",
        "wallet transactions --account 'Amina Foods' --type sms_charge --since 2027-01-01 --until"
        " 2027-02-01 --json",
    ),
)
@account_option
@click.option(
    "--type", "entry_type", type=click.Choice(_TYPES), help="Show only entries of this type."
)
@span_options
@page_options
def transactions(
    run: CommandRun,
    account: str,
    entry_type: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    before: str | None,
) -> None:
    """List an account's ledger entries, newest first. They are those of money and of credits, as
    GET /wallet/transactions shows them.
    """
    from heliograph import accounts
    from heliograph.base.errors import NotFound
    from heliograph.base.forms import quote_value
    from heliograph.base.ids import raw_of_text
    from heliograph.base.paging import PageWanted, Span
    from heliograph.wallet import account_ledger, ledger

    before_id = raw_of_text(ledger.ID_PREFIX, before) if before is not None else None
    if before is not None and before_id is None:
        raise NotFound(f"There is no transaction {quote_value(before)}.")
    with run.read() as tx:
        found = account_ledger.page(
            tx,
            accounts.find(tx, account).id,
            PageWanted(limit, before_id),
            Span(since, until),
            entry_type,
        )
    show_list(run, [ledger.as_record(entry) for entry in found[:limit]], _COLUMNS, limit=limit)
