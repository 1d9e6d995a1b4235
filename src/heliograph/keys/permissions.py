"""An API key can have nine permissions (docs/api.md, "Permissions")."""

from typing import Final

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

SMS_SEND: Final = "sms.send"
SMS_READ: Final = "sms.read"
WALLET_READ: Final = "wallet.read"
CONTACTS_READ: Final = "contacts.read"
CONTACTS_WRITE: Final = "contacts.write"
CAMPAIGNS_READ: Final = "campaigns.read"
CONNECT_CUSTOMERS: Final = "connect.customers"
SENDER_IDS_READ: Final = "sender_ids.read"
SENDER_IDS_WRITE: Final = "sender_ids.write"

ALL: Final = (
    SMS_SEND,
    SMS_READ,
    WALLET_READ,
    CONTACTS_READ,
    CONTACTS_WRITE,
    CAMPAIGNS_READ,
    CONNECT_CUSTOMERS,
    SENDER_IDS_READ,
    SENDER_IDS_WRITE,
)


def parse_permissions(text: str) -> tuple[str, ...]:
    """Returns the permissions of `all`, or of names separated by commas, in the order of `ALL`.
    Raises InvalidRequest.
    """
    if text.strip() == "all":
        return ALL
    named = {name.strip() for name in text.split(",")}
    unknown = sorted(named.difference(ALL, ["all"])) or sorted(named.difference(ALL))
    if unknown:
        detail = " beside others" if unknown == ["all"] else ""
        raise invalid_field(
            "permissions",
            f"must be all, or some of {', '.join(ALL)}; not {quote_value(unknown[0])}{detail}",
        )
    return tuple(name for name in ALL if name in named)
