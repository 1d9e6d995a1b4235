"""Leads from what is wrong to the page where something can be done about it."""

from typing import NamedTuple

from heliograph import accounts
from heliograph.console.navigation import (
    ABUSE,
    ACCOUNTS,
    ALERTS,
    CARRIERS,
    IN_DOUBT,
    ROUTES,
    UNMATCHED,
    NavigationLink,
)
from heliograph.monitoring import Trouble, TroubleKind
from heliograph.webhooks import endpoints


class RemedyPart(NamedTuple):
    """Holds a part of a remedy: a command to type, or what stands around it."""

    text: str
    is_command: bool = False


class LinkedTrouble(NamedTuple):
    """Holds a trouble, the page that is about it, if there is one, and its remedy in parts."""

    trouble: Trouble
    link: NavigationLink | None
    remedy: list[RemedyPart]


def linked(trouble: Trouble) -> LinkedTrouble:
    """Returns the trouble with the page where an operator can do something about it. Its remedy is
    ours, and has commands between backticks.
    """
    parts = trouble.remedy.split("`")
    remedy = [RemedyPart(text, bool(place % 2)) for place, text in enumerate(parts)]
    return LinkedTrouble(trouble, _page_about(trouble), remedy)


def linked_to_alerts(trouble: Trouble) -> LinkedTrouble:
    """Returns a trouble that an alert tells of, with the page of alerts. Its remedy is shown as it
    was stored.
    """
    return LinkedTrouble(trouble, NavigationLink(ALERTS, "Alerts"), [RemedyPart(trouble.remedy)])


def _page_about(trouble: Trouble) -> NavigationLink | None:
    carrier, troubled = trouble.carrier, trouble.endpoint
    match trouble.kind:
        case TroubleKind.CARRIER | TroubleKind.QUEUE if carrier is not None:
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
        case TroubleKind.WEBHOOKS if troubled is not None:
            account, endpoint = accounts.text_id(troubled.account), troubled.endpoint
            path = f"{ACCOUNTS}/{account}/webhooks/{endpoints.text_id(endpoint.id)}"
            return NavigationLink(path, f"Webhook endpoint of {troubled.account.name}")
        case _:
            return None
