"""Says what a member of an account may see and do in the portal."""

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
