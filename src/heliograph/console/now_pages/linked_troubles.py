"""Leads from what is wrong to the page where something can be done about it."""

from typing import NamedTuple

from heliograph.console.navigation import (
    ABUSE,
    ALERTS,
    CARRIERS,
    IN_DOUBT,
    ROUTES,
    UNMATCHED,
    NavigationLink,
)
from heliograph.monitoring import Trouble, TroubleKind


class LinkedTrouble(NamedTuple):
    """Holds a trouble, and the page that is about it, if there is one."""

    trouble: Trouble
    link: NavigationLink | None


def linked(trouble: Trouble) -> LinkedTrouble:
    """Returns the trouble with the page where an operator can do something about it."""
    return LinkedTrouble(trouble, _page_about(trouble))


def linked_to_alerts(trouble: Trouble) -> LinkedTrouble:
    """Returns a trouble that an alert tells of, with the page of alerts."""
    return LinkedTrouble(trouble, NavigationLink(ALERTS, "Alerts"))


def _page_about(trouble: Trouble) -> NavigationLink | None:
    carrier = trouble.carrier
    match trouble.kind:
        case TroubleKind.CARRIER if carrier is not None:
            return NavigationLink(f"{CARRIERS}/{carrier.name}", f"Carrier {carrier.name}")
        case TroubleKind.RECEIPTS if carrier is not None:
            return NavigationLink(
                f"{UNMATCHED}?carrier={carrier.id}", f"Receipts of {carrier.name}"
            )
        case TroubleKind.DOUBTS:
            return NavigationLink(IN_DOUBT, "Messages in doubt")
        case TroubleKind.ONE_TIME_PASSWORDS:
            return NavigationLink(ABUSE, "Abuse")
        case TroubleKind.ROUTES:
            return NavigationLink(ROUTES, "Routes")
        case _:
            return None
