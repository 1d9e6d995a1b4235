"""Says what a member of an account may see and do in the portal, and an operator in the console."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """Names the role of a user in an account. Every role may look at everything but secrets."""

    OWNER = "owner"
    DEVELOPER = "developer"
    MARKETER = "marketer"
    VIEWER = "viewer"


class Right(StrEnum):
    """Names what a page may ask for beyond looking."""

    SEND = "send"
    KEYS = "keys"
    WEBHOOKS = "webhooks"
    CAMPAIGNS = "campaigns"
    CONTACTS = "contacts"
    SENDERS = "senders"
    MEMBERS = "members"
    MONEY = "money"
    CONNECT = "connect"
    SETTINGS = "settings"


RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    Role.OWNER: frozenset(Right),
    Role.DEVELOPER: frozenset({Right.SEND, Right.KEYS, Right.WEBHOOKS}),
    Role.MARKETER: frozenset({Right.SEND, Right.CAMPAIGNS, Right.CONTACTS, Right.SENDERS}),
    Role.VIEWER: frozenset(),
}


class OperatorRole(StrEnum):
    """Names the role of a user in the console, among those who run the service."""

    ADMIN = "admin"
    SUPPORT = "support"
    FINANCE = "finance"
    AUDITOR = "auditor"


class OperatorRight(StrEnum):
    """Names what a page of the console may ask for."""

    LOOK = "look"
    APPROVE = "approve"  # sender IDs
    ACCOUNTS = "accounts"  # what a tenant may do
    MONEY = "money"  # grants, corrections, prices, statements
    CARRIERS = "carriers"  # carriers, routes, rates
    MESSAGES = "messages"  # settled, sent again, matched
    TEXTS = "texts"  # what a tenant's messages say
    ALERTS = "alerts"  # which there are, and who is told
    SEE = "see"  # a tenant's portal, as its owner sees it
    OPERATORS = "operators"  # who has which role


OPERATOR_RIGHTS: Final[dict[OperatorRole, frozenset[OperatorRight]]] = {
    OperatorRole.ADMIN: frozenset(OperatorRight),
    OperatorRole.SUPPORT: frozenset(
        {
            OperatorRight.LOOK,
            OperatorRight.APPROVE,
            OperatorRight.ACCOUNTS,
            OperatorRight.MESSAGES,
            OperatorRight.TEXTS,
            OperatorRight.ALERTS,
            OperatorRight.SEE,
        }
    ),
    OperatorRole.FINANCE: frozenset({OperatorRight.LOOK, OperatorRight.MONEY}),
    OperatorRole.AUDITOR: frozenset({OperatorRight.LOOK}),
}
