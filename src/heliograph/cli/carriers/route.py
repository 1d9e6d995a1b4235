"""Defines the commands `heliograph route …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.checked_values import MaybeEmpty
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list, tell_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heliograph.carriers import Carrier, Route

command = Noun(
    "route",
    help=(
        'Routes: which carriers take which numbers. The longest prefix of digits wins; "" takes'
        " what no other does. Carriers with a weight share what a route gets; the others stand by."
    ),
)


def _names(carriers: "Iterable[Carrier]") -> dict[int, str]:
    return {carrier.id: carrier.name for carrier in carriers}


def _record(route: "Route", names: "Mapping[int, str]") -> dict[str, Any]:
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
def set_(session: CommandRun, prefix: str, carriers: str) -> None:
    """Set the carriers of a prefix. The next one is used while those before it have been down for a
    minute or are paused. Carriers with a weight, from 1 to 100, stand first: they share what the
    prefix gets in these proportions, as far as they are up. What sells below cost then is told.
    """
    from heliograph.carriers import all_carriers, set_route
    from heliograph.pricing import changed_with_warning

    with session.write() as tx:
        route = changed_with_warning(
            tx, lambda: set_route(tx, prefix, carriers.split(",")), tell_loss
        )
        record = _record(route, _names(all_carriers(tx)))
    show(session, record)


@command.command("list", epilog=examples("route list"))
def list_(session: CommandRun) -> None:
    """List all routes."""
    from heliograph.carriers import all_carriers, all_routes

    with session.read() as tx:
        names = _names(all_carriers(tx))
        records = [_record(route, names) for route in all_routes(tx)]
    show_list(session, records, ("prefix", "carriers", "weights"))


@command.command("remove", epilog=examples("route remove 233"))
@click.argument("prefix", type=MaybeEmpty())
def remove(session: CommandRun, prefix: str) -> None:
    """Remove a route; the next shorter prefix takes its numbers."""
    from heliograph.carriers import remove_route
    from heliograph.pricing import changed_with_warning

    with session.write() as tx:
        changed_with_warning(tx, lambda: remove_route(tx, prefix), tell_loss)
    show(session, {"prefix": prefix, "removed": True})
