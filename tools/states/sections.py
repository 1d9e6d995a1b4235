"""The sections about each kind of thing that has states."""

from collections.abc import Iterator

from heliograph.accounts.states import ACCOUNT
from heliograph.campaigns.states import CAMPAIGN
from heliograph.carriers.carrier_states import STATE_MEANINGS
from heliograph.carriers.manage import DOWN_MS
from heliograph.messages.states import MESSAGE, RESEND_AFTER_MS, SEGMENT
from heliograph.otp.states import OTP
from heliograph.pricing.states import SHEET
from heliograph.senders.states import SENDER
from heliograph.webhooks.states import DELIVERY, ENDPOINT
from tools.states.markdown import diagram, meanings, table


def messages() -> Iterator[str]:
    """Yields the section about messages."""
    yield "## Messages\n"
    yield from diagram(MESSAGE)
    yield from meanings(MESSAGE)
    yield (
        "A status never goes back. `delivered` and `failed` are final: late, repeated or"
        " contradicting receipts change nothing."
    )
    yield (
        "The table is `MESSAGE` in `messages/states.py`; `messages/carrier/settle.py: move` decides"
        " by it.\n"
    )


def segments() -> Iterator[str]:
    """Yields the section about segments in flight."""
    yield "## Segments on the wire\n"
    yield (
        "The table `inflight` has one row for each submit_sm without an answer. Meanwhile clients"
        " see their message as `queued`.\n"
    )
    yield from diagram(SEGMENT)
    yield from meanings(SEGMENT, "state")
    yield "A segment in doubt is settled by whatever comes first:\n"
    yield "- A late answer."
    yield (
        "- A receipt that matches by the carrier's id, or else by the user_message_reference that"
        " it brings back. If it has neither, it matches"
    )
    yield "  if the carrier has only one message on the wire from that sender to that recipient."
    yield "- The end of its validity. The message has then failed, with the code `unknown`.\n"
    yield (
        f"If none of them comes within {RESEND_AFTER_MS // 1_000} s, and the carrier's `--in-doubt`"
        " is `resend`, the segment is sent once"
    )
    yield (
        "more. A segment of an OTP never is. An operator can settle a message in doubt, or have it"
        " sent again, at any time: `heliograph message`."
    )
    yield "The table is `SEGMENT` in `messages/states.py`.\n"


def one_time_passwords() -> Iterator[str]:
    """Yields the section about one-time passwords."""
    yield "## One-time passwords\n"
    yield from diagram(OTP)
    yield from meanings(OTP, "state")
    yield (
        "The state is not a column: it follows from when the code was verified and until when it"
        " is locked. In sandbox no wrong code is counted."
    )
    yield "The table is `OTP` in `otp/states.py`; `otp/limits.py: judge_try` decides.\n"


def senders() -> Iterator[str]:
    """Yields the section about sender IDs."""
    yield "## Sender IDs\n"
    yield from diagram(SENDER)
    yield from meanings(SENDER)
    yield "The table is `SENDER` in `senders/states.py`.\n"


def rate_sheets() -> Iterator[str]:
    """Yields the section about rate sheets."""
    yield "## Rate sheets\n"
    yield from diagram(SHEET)
    yield from meanings(SHEET)
    yield "The table is `SHEET` in `pricing/states.py`.\n"


def campaigns() -> Iterator[str]:
    """Yields the section about campaigns."""
    yield "## Campaigns\n"
    yield from diagram(CAMPAIGN)
    yield from meanings(CAMPAIGN)
    yield "The table is `CAMPAIGN` in `campaigns/states.py`."
    yield "The page [Campaigns](campaigns.md) explains the rest.\n"


def deliveries() -> Iterator[str]:
    """Yields the section about deliveries of events."""
    yield "## Webhook deliveries\n"
    yield "A delivery is one event for one endpoint.\n"
    yield from diagram(DELIVERY)
    yield from meanings(DELIVERY, "outcome")
    yield (
        "A delivery that waits is a row of `webhook_queue`; the other outcomes are in"
        " `webhook_deliveries`."
    )
    yield "The table is `DELIVERY` in `webhooks/states.py`.\n"


def endpoints() -> Iterator[str]:
    """Yields the section about webhook endpoints."""
    yield "## Webhook endpoints\n"
    yield from diagram(ENDPOINT)
    yield from meanings(ENDPOINT)
    yield "The table is `ENDPOINT` in `webhooks/states.py`.\n"


def accounts() -> Iterator[str]:
    """Yields the section about accounts."""
    yield "## Accounts\n"
    yield from diagram(ACCOUNT)
    yield from meanings(ACCOUNT)
    yield "The table is `ACCOUNT` in `accounts/states.py`.\n"


def carriers() -> Iterator[str]:
    """Yields the section about carriers, whose states are seen and not decided."""
    yield "## Carriers\n"
    yield from table(
        ("state", "means"),
        ((f"`{state.value}`", meaning) for state, meaning in STATE_MEANINGS.items()),
    )
    yield (
        "The state of a carrier is what its processes saw last of their connections, so any state"
        " may follow any other."
    )
    yield (
        "`heliograph carrier list` shows the state with its reason. `heliograph carrier show NAME`"
        " also shows all settings."
    )
    yield f"A carrier that has not been `bound` for {DOWN_MS // 1_000} s is down:"
    yield (
        "new messages take the next carrier of their route, or the others that share it by weight,"
        " and messages that wait for it move there too.\n"
    )
