"""Says in sentences which way a text would go, what it would cost, and why. It is pure."""

from collections.abc import Sequence

from heliograph.accounts import Account
from heliograph.carriers import GENERAL, Carrier, Rate, Route, Sharing
from heliograph.messages.accept.which_way import WhichWay
from heliograph.text import Phone


def route_in_words(
    phone: Phone, account: Account | None, found: WhichWay, carriers: Sequence[Carrier]
) -> list[str]:
    """Returns the sentences, what will be done first."""
    names = {carrier.id: carrier.name for carrier in carriers}
    draining = {carrier.id for carrier in carriers if carrier.draining}
    paused = {carrier.id for carrier in carriers if carrier.paused}
    plan, refusal = found.offer
    told = []
    if refusal is None:
        told.append(
            f"A text to {phone.digits} would go to {names[found.carrier_id]}, and cost"
            f" {_credits(plan.rate)} a segment."
        )
    else:
        told.append(f"A text to {phone.digits} would be refused with {refusal}.")
    if refusal == "country_not_allowed" and account is not None:
        told.append(
            f"{account.name} may send to {', '.join(account.countries or ())} only, and the number"
            f" is of {phone.country_code or 'no country'}."
        )
    told += _of_route(found, names, draining, paused)
    if refusal is None and plan.sharing is not None:
        told.append(_of_sharing(plan.sharing, names, names[found.carrier_id]))
    return [*told, _of_rate(found.rate, account)]


def _of_route(
    found: WhichWay, names: dict[int, str], draining: set[int], paused: set[int]
) -> list[str]:
    if found.route is None:
        return ["No route leads there: no prefix fits, and there is no default route."]
    what = f"of prefix {found.route.prefix}" if found.route.prefix else "for all other numbers"
    told = [f"The route {what} decides: {_tried(found.route, names)}."]
    for carrier_id in found.route.carrier_ids:
        if carrier_id in draining:
            told.append(f"{names[carrier_id]} drains, so it takes no new messages.")
        elif carrier_id in paused:
            told.append(f"{names[carrier_id]} is paused, so nothing is handed over to it.")
        elif carrier_id in found.down:
            told.append(f"{names[carrier_id]} has been down for a minute or longer.")
    return told


def _tried(route: Route, names: dict[int, str]) -> str:
    listed = [names[carrier_id] for carrier_id in route.carrier_ids]
    if not route.weights:
        return f"it tries {', then '.join(listed)}"
    count = len(route.weights)
    weighed = zip(listed[:count], route.weights, strict=True)
    shared = ", ".join(f"{name} {weight}" for name, weight in weighed)
    spare = f"; then it tries {', then '.join(listed[count:])}" if listed[count:] else ""
    return f"it shares by weight, {shared}{spare}"


def _of_sharing(sharing: Sharing, names: dict[int, str], taker: str) -> str:
    (first, weight), *others = sharing.weights.items()
    parts = [
        f"{weight} of {sharing.bounds[-1]} go to {names[first]}",
        *(f"{weight} to {names[each]}" for each, weight in others),
    ]
    return f"{', '.join(parts)}; this number goes to {taker}."


def _of_rate(rate: Rate | None, account: Account | None) -> str:
    if rate is None:
        return "No rate is set for it."
    whose = "The general rate" if rate.account_id == GENERAL else "The account's own rate"
    if rate.account_id != GENERAL and account is not None:
        whose = f"{account.name}'s own rate"
    price = "refuses such texts" if rate.credits is None else f"is {_credits(rate.credits)}"
    if rate.destination == "default":
        return f"{whose} for all other destinations {price}."
    return f"{whose} for {rate.destination} {price}."


def _credits(count: int) -> str:
    return "1 credit" if count == 1 else f"{count} credits"
