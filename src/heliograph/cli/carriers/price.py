"""Defines the commands `heliograph price …`."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list, warn_of_loss
from heliograph.cli.values import Money, WholeNumber

if TYPE_CHECKING:
    from heliograph.wallet.prices import Price

command = Noun(
    "price",
    help=(
        "Prices: what SMS credits are sold for, one in each currency. `credits buy` buys with the"
        " money of an account's wallet."
    ),
)


def _record(price: "Price") -> dict[str, Any]:
    from heliograph.wallet import money

    return {
        "currency": price.currency,
        "amount": money.to_number(price.amount_minor, price.currency),
        "per": price.credits,
    }


@command.command(
    "set",
    epilog=examples(
        "price set GHS 35 --per 1000", "price set KWD 1.250 --per 100", "price set JPY 3 --per 1"
    ),
)
@click.argument("currency", type=checked_values.CURRENCY)
@click.argument("amount", type=Money())
@click.option(
    "--per",
    required=True,
    type=WholeNumber(1),
    metavar="CREDITS",
    help="How many credits AMOUNT buys. Other numbers cost in proportion, rounded up.",
)
def set_(run: CommandRun, currency: str, amount: Decimal, per: int) -> None:
    """Set what credits cost in a currency, from now on. The command warns about what then sells
    below cost."""
    from heliograph.pricing import change_with_warning
    from heliograph.wallet.prices import set_price

    with run.write() as tx:
        price = change_with_warning(tx, lambda: set_price(tx, currency, amount, per), warn_of_loss)
    show(run, _record(price))


@command.command("list", epilog=examples("price list"))
def list_(run: CommandRun) -> None:
    """List prices, by currency."""
    from heliograph.wallet.prices import all_prices

    with run.read() as tx:
        found = all_prices(tx)
    show_list(run, [_record(price) for price in found], ("currency", "amount", "per"))


@command.command("remove", epilog=examples("price remove KWD"))
@click.argument("currency", type=checked_values.CURRENCY)
def remove(run: CommandRun, currency: str) -> None:
    """Stop selling credits for a currency."""
    from heliograph.wallet.prices import remove_price

    with run.write() as tx:
        remove_price(tx, currency)
    show(run, {"currency": currency.upper(), "removed": True})
