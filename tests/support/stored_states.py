"""Tells where the states of each kind are stored, and which sources may write them."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from heliograph.accounts.states import ACCOUNT
from heliograph.accounts.tables import accounts
from heliograph.campaigns.states import CAMPAIGN
from heliograph.campaigns.tables import campaigns
from heliograph.database.transitions import Transitions
from heliograph.messages.states import MESSAGE, SEGMENT
from heliograph.messages.tables import inflight, messages
from heliograph.otp.states import OTP
from heliograph.otp.tables import otps
from heliograph.pricing.states import SHEET
from heliograph.pricing.tables import rate_sheets
from heliograph.senders.states import SENDER
from heliograph.senders.tables import senders
from heliograph.webhooks.states import DELIVERY, ENDPOINT
from heliograph.webhooks.tables import webhook_deliveries, webhook_endpoints
from tests.support.sources import PACKAGE, Source, sources


class Kept(NamedTuple):
    """Tells where the states of one kind are stored."""

    transitions: Transitions
    columns: tuple[str, ...]


TABLES: Final[Mapping[str, Kept]] = {
    messages.name: Kept(MESSAGE, ("status",)),
    inflight.name: Kept(SEGMENT, ("state",)),
    campaigns.name: Kept(CAMPAIGN, ("status",)),
    senders.name: Kept(SENDER, ("status",)),
    rate_sheets.name: Kept(SHEET, ("status",)),
    accounts.name: Kept(ACCOUNT, ("status", "closed_at_ms")),
    otps.name: Kept(OTP, ("verified_at_ms", "locked_until_ms")),
    webhook_endpoints.name: Kept(ENDPOINT, ("disabled_at_ms",)),
    webhook_deliveries.name: Kept(DELIVERY, ("outcome",)),
}
INSERTED: Final = re.compile(r"\bINSERT\s+INTO\s+(\w+)", re.IGNORECASE)


def governed() -> Iterable[Source]:
    """Yields all sources but those that say which words there are."""
    return (
        source
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/")
        and source.path.split("/")[-1] not in ("states.py", "tables.py")
    )
