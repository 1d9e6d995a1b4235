"""Defines the commands `heliograph cost …`."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.checked_values import MaybeEmpty
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list, warn_of_loss
from heliograph.cli.values import Money

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.monitoring.carrier_days import CarrierDay
    from heliograph.pricing import CarrierCost

command = Noun(
    "cost",
    help=(
        "Costs: what a carrier charges for a segment. The longest prefix of digits counts;"
        ' "" is for all other numbers. Rates are compared with them.'
    ),
)


def _record(cost: "CarrierCost", names: "Mapping[int, str]") -> dict[str, Any]:
    return {
        "carrier": names[cost.carrier_id],
        "prefix": cost.prefix,
        "amount": cost.amount,
        "currency": cost.currency,
    }


@command.command(
    "set",
    epilog=examples("cost set simulator 233 0.0125 GHS", 'cost set simulator "" 0.04 EUR'),
)
@click.argument("name", metavar="CARRIER")
@click.argument("prefix", type=MaybeEmpty())
@click.argument("amount", type=Money())
@click.argument("currency", type=checked_values.CURRENCY)
def set_(run: CommandRun, name: str, prefix: str, amount: Decimal, currency: str) -> None:
    """Set what a segment costs with a carrier. AMOUNT has at most six decimals. The command warns
    about what then sells below cost.
    """
    from heliograph.pricing import change_with_warning, set_cost

    with run.write() as tx:
        cost = change_with_warning(
            tx, lambda: set_cost(tx, name, prefix, amount, currency), warn_of_loss
        )
    show(run, _record(cost, {cost.carrier_id: name}))


@command.command("list", epilog=examples("cost list", "cost list --carrier simulator"))
@click.option("--carrier", metavar="NAME", help="Show only the costs of this carrier.")
def list_(run: CommandRun, carrier: str | None) -> None:
    """List costs, by carrier and prefix."""
    from heliograph.carriers import all_carriers, carrier_named
    from heliograph.pricing import load_costs

    with run.read() as tx:
        names = {each.id: each.name for each in all_carriers(tx)}
        costs = load_costs(tx, None if carrier is None else carrier_named(tx, carrier).id)
    records = [_record(cost, names) for cost in costs]
    show_list(run, records, ("carrier", "prefix", "amount", "currency"))


@command.command("remove", epilog=examples("cost remove simulator 233"))
@click.argument("name", metavar="CARRIER")
@click.argument("prefix", type=MaybeEmpty())
def remove(run: CommandRun, name: str, prefix: str) -> None:
    """Remove a cost, so that the next shorter prefix counts."""
    from heliograph.pricing import change_with_warning, remove_cost

    with run.write() as tx:
        cost = change_with_warning(tx, lambda: remove_cost(tx, name, prefix), warn_of_loss)
    show(run, {**_record(cost, {cost.carrier_id: name}), "removed": True})


@command.command("days", epilog=examples("cost days", "cost days --carrier simulator --json"))
@click.option("--carrier", metavar="NAME", help="Show only segments of this carrier.")
def days(run: CommandRun, carrier: str | None) -> None:
    """List what carriers took in the last 30 days. For each day, in UTC, it shows the segments, the
    credits that were charged for them, and their cost. "Sold for" is what these credits cost now,
    in the currency of the cost, and "margin" is what remains of it after the cost. Both are missing
    where credits are not sold in that currency.
    """
    from heliograph.base import clock
    from heliograph.base.clock import rfc3339
    from heliograph.carriers import carrier_named
    from heliograph.monitoring import carrier_days

    with run.snapshot() as tx:
        if carrier is not None:
            carrier_named(tx, carrier)  # refuses an unknown one
        found = carrier_days.days_of_carriers(tx, clock.now_ms())
        began_ms = carrier_days.carrier_money_began_ms(tx, clock.now_ms())
    columns = (
        *("day", "carrier", "segments", "credits", "currency", "cost", "sold_for_now"),
        "margin_now",
    )
    if began_ms is not None:
        click.echo(
            f"What carriers took before {rfc3339(began_ms)} is missing, because the version of"
            " Heliograph that was running did not count it.",
            err=True,
        )
    records = [_day_record(each) for each in found if carrier in (None, each.carrier)]
    show_list(run, records, columns)


def _day_record(of: "CarrierDay") -> dict[str, Any]:
    from heliograph.base.clock import date_in_utc
    from heliograph.pricing import micro_text
    from heliograph.wallet import money

    def amount(minor: int | None) -> Any:
        return None if minor is None else money.to_number(minor, of.currency)

    return {
        "day": date_in_utc(of.day_ms),
        "carrier": of.carrier,
        "segments": of.money.segments,
        "credits": of.money.credits,
        "currency": of.currency or None,
        "cost": micro_text(of.money.cost_micro) if of.currency else None,
        "sold_for_now": amount(of.sold_minor),
        "margin_now": amount(of.margin_minor),
    }
