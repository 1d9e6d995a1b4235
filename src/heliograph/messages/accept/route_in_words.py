"""Says in sentences which way a text would go, what it would cost, and why. It is pure."""

from collections.abc import Container, Mapping, Sequence

from heliograph.accounts import Account
from heliograph.carriers import GENERAL, Carrier, LinkState, Sharing, current_rates, routing
from heliograph.messages.accept.route_lookup import RouteLookup
from heliograph.text import Phone


def route_in_words(
    phone: Phone, account: Account | None, lookup: RouteLookup, carriers: Sequence[Carrier]
) -> list[str]:
    """Returns the sentences, what will be done first. The carriers come in the states that the
    processes keep them in (`served_carriers`).
    """
    by_id = {carrier.id: carrier for carrier in carriers}
    names = {carrier.id: carrier.name for carrier in carriers}
    plan, refusal = lookup.offer
    sentences = []
    if refusal is None:
        sentences.append(
            f"A text to {phone.digits} would go to {names[lookup.carrier_id]}, and cost"
            f" {_credits(plan.rate)} a segment."
        )
        sentences += _of_taker(lookup, by_id)
    else:
        sentences.append(f"A text to {phone.digits} would be refused with {refusal}.")
    if refusal == "country_not_allowed" and account is not None:
        sentences.append(
            f"{account.name} may send to {', '.join(account.countries or ())} only, and the number"
            f" is of {phone.country_code or 'no country'}."
        )
    sentences += _of_route(lookup, by_id)
    if refusal is None and plan.sharing is not None:
        sentences.append(_of_sharing(plan.sharing, names, names[lookup.carrier_id]))
    return [*sentences, _of_rate(lookup.rate, account)]


def _of_taker(found: RouteLookup, carriers: Mapping[int, Carrier]) -> list[str]:
    """Says what becomes of the text if nothing is handed over to the carrier that it would go to.
    A carrier that drains is never that one.
    """
    taker = carriers[found.carrier_id]
    condition = _condition(taker, found.down)
    if condition is None or found.route is None:
        return []
    sentence = f"At the moment {condition}."
    open_route = found.route.without({each for each in carriers if carriers[each].draining})
    next_ones = open_route.sharing(found.down | {taker.id})
    if next_ones is not None and taker.id not in found.down:
        names = " and ".join(carriers[each].name for each in next_ones.carrier_ids)
        verb = "takes" if len(next_ones.carrier_ids) == 1 else "share"
        return [
            sentence,
            f"The text waits. Once {taker.name} has been down for a minute, {names} {verb} it.",
        ]
    if len(open_route.carrier_ids) > 1:
        return [
            sentence,
            "No other carrier of the route is up, so the text waits until one is, or until its"
            " validity ends.",
        ]
    return [sentence, "The text waits until that is over, or until its validity ends."]


def _condition(carrier: Carrier, down: Container[int]) -> str | None:
    """Says why nothing is handed over to a carrier, or that it takes no new messages. It returns
    None for one that works.
    """
    detail = f": {carrier.state_detail}" if carrier.state_detail else ""
    state = carrier.state.replace("_", " ")
    if carrier.draining:
        return f"{carrier.name} drains, so it takes no new messages"
    if carrier.paused:
        return f"{carrier.name} is paused, so nothing is handed over to it"
    if carrier.id in down:
        return f"{carrier.name} has been down for a minute or longer ({state}{detail})"
    if carrier.state == LinkState.CLOSED.value:
        return f"{carrier.name} is not bound, because no process serves it"
    if carrier.state != LinkState.BOUND.value:
        return f"{carrier.name} is not bound ({state}{detail})"
    return None


def _of_route(found: RouteLookup, carriers: Mapping[int, Carrier]) -> list[str]:
    """Says which route decides, and what keeps its carriers from work. Of the carrier that the text
    would go to, `_of_taker` speaks.
    """
    if found.route is None:
        return ["No route leads there: no prefix fits, and there is no default route."]
    names = {carrier.id: carrier.name for carrier in carriers.values()}
    what = f"of prefix {found.route.prefix}" if found.route.prefix else "for all other numbers"
    sentences = [f"The route {what} decides: {_tried(found.route, names)}."]
    for carrier_id in found.route.carrier_ids:
        condition = _condition(carriers[carrier_id], found.down)
        if condition and (found.offer.refusal or carrier_id != found.carrier_id):
            sentences.append(f"{condition}.")
    if all(carriers[each].draining for each in found.route.carrier_ids):
        sentences.append("As all of its carriers drain, texts are refused until one is resumed.")
    return sentences


def _tried(route: routing.Route, names: dict[int, str]) -> str:
    carrier_names = [names[carrier_id] for carrier_id in route.carrier_ids]
    if not route.weights:
        return f"it tries {', then '.join(carrier_names)}"
    count = len(route.weights)
    weighed = zip(carrier_names[:count], route.weights, strict=True)
    shared = ", ".join(f"{name} {weight}" for name, weight in weighed)
    spare = (
        f"; then it tries {', then '.join(carrier_names[count:])}" if carrier_names[count:] else ""
    )
    return f"it shares by weight, {shared}{spare}"


def _of_sharing(sharing: Sharing, names: dict[int, str], taker: str) -> str:
    (first, weight), *others = sharing.weights.items()
    parts = [
        f"{weight} of {sharing.bounds[-1]} go to {names[first]}",
        *(f"{weight} to {names[each]}" for each, weight in others),
    ]
    return f"{', '.join(parts)}; this number goes to {taker}."


def _of_rate(rate: current_rates.Rate | None, account: Account | None) -> str:
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
