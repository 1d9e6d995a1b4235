"""Checks carriers and routes: whether what is sent can leave."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from heliograph.base.secrets import SecretUnreadable
from heliograph.carriers import SIMULATOR_ID, Carrier, LinkState, routing
from heliograph.carriers.carrier_states import PartlyBound
from heliograph.monitoring.check_result import CheckResult

ALREADY_BOUND: Final = "command_status 0x00000005"  # ESME_RALYBND (SMPP 3.4, table 5-2)


def binds(
    carriers: list[Carrier],
    partly_bound: Mapping[int, PartlyBound],
    connect: Callable[[Carrier], object],
) -> Iterator[CheckResult]:
    """Tells of each carrier whether it is bound. Of a carrier that is bound in some processes only,
    `partly_bound` says in how many it should be, and what those that are not bound say. `connect`
    raises SecretUnreadable when a carrier's password cannot be read.
    """
    for carrier in carriers:
        check = f"carrier {carrier.name}"
        if carrier.type == "smpp":
            try:
                connect(carrier)
            except SecretUnreadable as error:
                yield CheckResult(
                    check,
                    "failure",
                    str(error),
                    f"set it again: heliograph carrier set {carrier.name} --password-file FILE",
                )
                continue
        if carrier.paused:
            yield CheckResult(
                check,
                "warning",
                "paused: nothing is handed over to it",
                f"heliograph carrier resume {carrier.name}",
            )
        if found := partly_bound.get(carrier.id):
            bound = found.processes - len(found.others)
            yield CheckResult(
                check,
                "warning",
                f"bound in {bound} of {found.processes} processes; another is {found.others[0]}",
                "see whether the carrier allows so many binds, and what that process logs; it"
                " leaves its part of the rate to the others",
            )
        elif carrier.state == LinkState.BOUND.value:
            yield CheckResult(check, "ok", "bound")
        else:
            detail = f": {carrier.state_detail}" if carrier.state_detail else ""
            yield CheckResult(check, "warning", f"{carrier.state}{detail}", remedy(carrier))


def remedy(carrier: Carrier) -> str:
    """Returns what to do about a carrier that is not bound."""
    if ALREADY_BOUND in (carrier.state_detail or ""):
        return (
            f"is {carrier.name}'s system_id bound elsewhere, or is --binds more than the carrier"
            " allows? If the carrier still keeps an old connection, it ends it within minutes"
        )
    if carrier.state == LinkState.CLOSED.value:
        return f"is a server running? try: heliograph carrier test {carrier.name}"
    return (
        f"see what it answers: heliograph carrier test {carrier.name}, or its page. After 60 s,"
        " texts take the next carrier of their route that is up, or wait"
    )


def takes_texts(carriers: dict[int, Carrier], route: routing.Route) -> bool:
    """Returns whether live texts can take a route: it does not lead to the simulator, and a carrier
    of it neither drains nor is paused.
    """
    return SIMULATOR_ID not in route.carrier_ids and any(
        not carriers[carrier_id].draining and not carriers[carrier_id].paused
        for carrier_id in route.carrier_ids
    )


def routes(carriers: dict[int, Carrier], routes: list[routing.Route]) -> Iterator[CheckResult]:
    """Tells of each route whether texts can take it. A carrier's weight stands behind its name."""
    if not routes:
        yield CheckResult(
            "routes",
            "warning",
            "none: live texts are refused with no_route",
            'heliograph route set "" CARRIER',
        )
    names_by_id = {carrier.id: carrier.name for carrier in carriers.values()}
    for route in routes:
        check, carrier_ids = f"route {route.prefix or 'default'}", route.carrier_ids
        names = ", ".join(route.carriers_in_text(names_by_id))
        if route.prefix.startswith("0"):  # as earlier versions took it
            yield CheckResult(
                check,
                "warning",
                "no number begins with 0, so no text takes this route",
                f"heliograph route remove {route.prefix}",
            )
        elif takes_texts(carriers, route):
            yield CheckResult(check, "ok", names)
        elif SIMULATOR_ID in carrier_ids:
            yield CheckResult(
                check,
                "warning",
                f"{names}: live texts there are charged, and go to the simulator",
                "set a real carrier before you go live",
            )
        elif all(carriers[carrier_id].draining for carrier_id in carrier_ids):
            yield CheckResult(
                check, "warning", f"{names}: all of them drain", "set a carrier that takes messages"
            )
        else:
            yield CheckResult(
                check,
                "warning",
                f"{names}: texts wait, because all of them are paused or drain",
                "resume one, or set a carrier that takes messages",
            )
