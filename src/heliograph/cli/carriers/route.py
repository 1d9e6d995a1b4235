"""Defines the commands `heliograph route …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.checked_values import MaybeEmpty
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list, warn_of_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heliograph.carriers import Carrier, routing

command = Noun(
    "route",
    help=(
        'Routes: which carriers take which numbers. The longest prefix of digits wins; "" takes'
        " what no other does. Carriers with a weight share what a route gets; the others stand by."
    ),
)


def _names(carriers: "Iterable[Carrier]") -> dict[int, str]:
    return {carrier.id: carrier.name for carrier in carriers}


def _record(route: "routing.Route", names: "Mapping[int, str]") -> dict[str, Any]:
    return {
        "prefix": route.prefix,
        "carriers": [names[carrier_id] for carrier_id in route.carrier_ids],
        "weights": list(route.weights),  # of the first carriers
    }


@command.command(
    "set",
    epilog=examples(
        "route set 233 gh-main,gh-spare",
        "route set 233 mtn-a:70,mtn-b:30,gh-spare",
        'route set "" simulator',
    ),
)
@click.argument("prefix", type=MaybeEmpty())
@click.argument("carriers", metavar="CARRIER[:WEIGHT][,CARRIER[:WEIGHT]…]")
def set_(run: CommandRun, prefix: str, carriers: str) -> None:
    """Set the carriers of a prefix. The next carrier is used while those before it are paused, or
    have been down for a minute. Carriers with a weight, from 1 to 100, stand first: they share what
    the prefix gets in these proportions, as far as they are up. The command warns about what then
    sells below cost.
    """
    from heliograph.carriers import all_carriers, routing
    from heliograph.pricing import change_with_warning

    with run.write() as tx:
        route = change_with_warning(
            tx, lambda: routing.set_route(tx, prefix, carriers.split(",")), warn_of_loss
        )
        record = _record(route, _names(all_carriers(tx)))
    show(run, record)


@command.command("list", epilog=examples("route list"))
def list_(run: CommandRun) -> None:
    """List all routes."""
    from heliograph.carriers import all_carriers, routing

    with run.read() as tx:
        names = _names(all_carriers(tx))
        records = [_record(route, names) for route in routing.all_routes(tx)]
    show_list(run, records, ("prefix", "carriers", "weights"))


@command.command("remove", epilog=examples("route remove 233"))
@click.argument("prefix", type=MaybeEmpty())
def remove(run: CommandRun, prefix: str) -> None:
    """Remove a route; the next shorter prefix takes its numbers."""
    from heliograph.carriers import routing
    from heliograph.pricing import change_with_warning

    with run.write() as tx:
        removed = change_with_warning(tx, lambda: routing.remove_route(tx, prefix), warn_of_loss)
    show(run, {"prefix": removed, "removed": True})


@command.command(
    "which",
    epilog=examples("route which 233201234567", "route which 0201234567 --account 'Amina Foods'"),
)
@click.argument("number")
@click.option(
    "--account", metavar="ACC", help="The account that would send it: its id or unique name."
)
def which(run: CommandRun, number: str, account: str | None) -> None:
    """Show how a live text to NUMBER would go now. The command shows which carrier would take it,
    what it would cost, what the carrier charges for it, and why. Nothing is sent. Without
    --account, no account's own rates and countries are used.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.carriers import carrier_states
    from heliograph.messages.accept import look_up_route, route_in_words
    from heliograph.pricing import margin_in_words
    from heliograph.text import parse_phone

    with run.read() as tx:
        found = None if account is None else accounts.find(tx, account)
        phone = parse_phone(number, None, found and found.country_code)
        if phone is None:
            raise click.BadParameter(
                f"must be a phone number in international digits such as 233201234567, not"
                f" {number!r}.",
                param_hint="NUMBER",
            )
        way = look_up_route(tx, phone, found and found.id, now_ms=clock.now_ms())
        carriers = carrier_states.served_carriers(tx)
        first, *why = route_in_words(phone, found, way, carriers)
        taker = next((each for each in carriers if each.id == way.carrier_id), None)
        if not way.offer.refusal and way.rate is not None and taker is not None:
            why.insert(0, margin_in_words(tx, phone, way.rate, taker))
        sentences = [first, *why]
    if not run.as_json:
        click.echo("\n".join(sentences))
        return
    plan, refusal = way.offer
    show(
        run,
        {
            "to": phone.digits,
            "country": phone.country_code,
            "carrier": None if refusal else _names(carriers)[way.carrier_id],
            "credits": None if refusal else plan.rate,
            "refusal": refusal,
            "prefix": None if way.route is None else way.route.prefix,
            "why": sentences,
        },
    )
