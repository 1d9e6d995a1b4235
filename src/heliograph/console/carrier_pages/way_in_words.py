"""Says in sentences which way a text would go, what it would cost, and why. It is pure."""

from collections.abc import Sequence

from heliograph.accounts import Account
from heliograph.carriers import GENERAL, Carrier, Rate
from heliograph.messages.accept import WhichWay
from heliograph.text import Phone


def way_in_words(
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
            f"A text to {phone.digits} would go to {names[plan.carrier_id]}, and cost"
            f" {_credits(plan.rate)} a segment."
        )
    else:
        told.append(f"A text to {phone.digits} would be refused with {refusal}.")
    if refusal == "country_not_allowed" and account is not None:
        told.append(
            f"{account.name} may send to {', '.join(account.countries or ())} only, and the number"
            f" is of {phone.country_code or 'no country'}."
        )
    return [*told, *_of_route(found, names, draining, paused), _of_rate(found.rate, account)]


def _of_route(
    found: WhichWay, names: dict[int, str], draining: set[int], paused: set[int]
) -> list[str]:
    if found.route is None:
        return ["No route leads there: no prefix fits, and there is no default route."]
    tried = ", then ".join(names[carrier_id] for carrier_id in found.route.carrier_ids)
    what = f"of prefix {found.route.prefix}" if found.route.prefix else "for all other numbers"
    told = [f"The route {what} decides: it tries {tried}."]
    for carrier_id in found.route.carrier_ids:
        if carrier_id in draining:
            told.append(f"{names[carrier_id]} drains, so it takes no new messages.")
        elif carrier_id in paused:
            told.append(f"{names[carrier_id]} is paused, so nothing is handed over to it.")
        elif carrier_id in found.down:
            told.append(f"{names[carrier_id]} has been down for a minute or longer.")
    return told


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
