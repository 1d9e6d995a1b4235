"""Makes the sections about each kind of thing that has states."""

from collections.abc import Iterator

from heliograph.accounts.states import ACCOUNT
from heliograph.campaigns.states import CAMPAIGN
from heliograph.messages.states import MESSAGE, SEGMENT
from heliograph.otp.states import OTP
from heliograph.pricing.states import SHEET
from heliograph.senders.states import SENDER
from heliograph.webhooks.states import DELIVERY, ENDPOINT
from tools.states.markdown import diagram, meanings


def messages() -> Iterator[str]:
    """Yields the section about messages."""
    yield "## Messages\n"
    yield from diagram(MESSAGE)
    yield from meanings(MESSAGE)
    yield (
        "A status never goes back. `delivered` and `failed` are final. A receipt that comes later,"
        " comes again or says something else changes nothing."
    )
    yield (
        "The transitions are in the table `MESSAGE` in `messages/states.py`."
        " `messages/carrier/settle.py: move` follows it.\n"
    )


def segments() -> Iterator[str]:
    """Yields the section about segments in flight."""
    yield "## Segments on the wire\n"
    yield (
        "The table `inflight` has one row for each submit_sm that has no answer yet. Until all"
        " segments of a message are accepted, clients see it as `queued`.\n"
    )
    yield from diagram(SEGMENT)
    yield from meanings(SEGMENT, "state")
    yield (
        "[Answers and receipts](answers.md#what-settles-a-segment-in-doubt) tells what settles a"
        " doubt."
    )
    yield "The transitions are in the table `SEGMENT` in `messages/states.py`.\n"


def one_time_passwords() -> Iterator[str]:
    """Yields the section about one-time passwords."""
    yield "## One-time passwords\n"
    yield from diagram(OTP)
    yield from meanings(OTP, "state")
    yield (
        "The state is not stored. It follows from two times: when the code was verified, and until"
        " when it is locked. In sandbox no wrong code is counted."
    )
    yield (
        "The transitions are in the table `OTP` in `otp/states.py`. `otp/limits.py: judge_try` says"
        " which one a code takes.\n"
    )


def senders() -> Iterator[str]:
    """Yields the section about sender IDs."""
    yield "## Sender IDs\n"
    yield from diagram(SENDER)
    yield from meanings(SENDER)
    yield "The transitions are in the table `SENDER` in `senders/states.py`.\n"


def rate_sheets() -> Iterator[str]:
    """Yields the section about rate sheets."""
    yield "## Rate sheets\n"
    yield from diagram(SHEET)
    yield from meanings(SHEET)
    yield "The transitions are in the table `SHEET` in `pricing/states.py`.\n"


def campaigns() -> Iterator[str]:
    """Yields the section about campaigns."""
    yield "## Campaigns\n"
    yield from diagram(CAMPAIGN)
    yield from meanings(CAMPAIGN)
    yield "The transitions are in the table `CAMPAIGN` in `campaigns/states.py`."
    yield "[Campaigns](campaigns.md) explains how a campaign is made and sent.\n"


def deliveries() -> Iterator[str]:
    """Yields the section about deliveries of events."""
    yield "## Webhook deliveries\n"
    yield "A delivery is one event for one endpoint. Its outcome says what became of it.\n"
    yield from diagram(DELIVERY)
    yield from meanings(DELIVERY, "outcome")
    yield (
        "While a delivery waits, it is a row of `webhook_queue`. Afterwards it is a row of"
        " `webhook_deliveries`."
    )
    yield "The transitions are in the table `DELIVERY` in `webhooks/states.py`.\n"


def endpoints() -> Iterator[str]:
    """Yields the section about webhook endpoints."""
    yield "## Webhook endpoints\n"
    yield from diagram(ENDPOINT)
    yield from meanings(ENDPOINT)
    yield "The transitions are in the table `ENDPOINT` in `webhooks/states.py`.\n"


def accounts() -> Iterator[str]:
    """Yields the section about accounts."""
    yield "## Accounts\n"
    yield from diagram(ACCOUNT)
    yield from meanings(ACCOUNT)
    yield "The transitions are in the table `ACCOUNT` in `accounts/states.py`.\n"
