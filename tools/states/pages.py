"""Puts the two pages together: it says which sections each has, in which order."""

from pathlib import Path
from typing import Final

from heliograph.accounts.states import ACCOUNT
from heliograph.campaigns.states import CAMPAIGN
from heliograph.messages.states import MESSAGE, SEGMENT
from heliograph.otp.states import OTP
from heliograph.pricing.states import SHEET
from heliograph.senders.states import SENDER
from heliograph.webhooks.states import DELIVERY, ENDPOINT
from tools.states.carriers import carriers, doubts
from tools.states.errors import errors
from tools.states.outcomes import answers, receipts
from tools.states.sections import section
from tools.states.statuses import statuses

DOCUMENTS: Final = Path(__file__).parents[2] / "docs"
CHECKED: Final = "It is made from the code, and a test checks that it is up to date."


def pages() -> dict[Path, str]:
    """Returns the text of each page that is made, by its file."""
    return {
        DOCUMENTS / "states.md": states_page(),
        DOCUMENTS / "answers.md": answers_page(),
    }


def states_page() -> str:
    """Returns docs/states.md. All of it comes from the tables that rooms declare."""
    return "\n".join(
        [
            "# States\n",
            "<!-- Made by tools/states from the tables in the code: change them there, and run"
            " `make docs`. -->\n",
            "This page lists the states of messages and of what else the API tells a status of,"
            " and what leads from one to the next.",
            CHECKED,
            "A row changes its state only if a table in a `states.py` has that transition."
            " Otherwise the statement changes nothing. What carriers do is told in"
            " [answers and receipts](answers.md).\n",
            *section("Messages", MESSAGE, "`MESSAGE` in `messages/states.py`"),
            *section("Segments on the wire", SEGMENT, "`SEGMENT` in `messages/states.py`", "state"),
            *errors(),
            *section("One-time passwords", OTP, "`OTP` in `otp/states.py`", "state"),
            *section("Sender IDs", SENDER, "`SENDER` in `senders/states.py`"),
            *section("Rate sheets", SHEET, "`SHEET` in `pricing/states.py`"),
            *section("Campaigns", CAMPAIGN, "`CAMPAIGN` in `campaigns/states.py`"),
            *section(
                "Webhook deliveries", DELIVERY, "`DELIVERY` in `webhooks/states.py`", "outcome"
            ),
            *section("Webhook endpoints", ENDPOINT, "`ENDPOINT` in `webhooks/states.py`"),
            *section("Accounts", ACCOUNT, "`ACCOUNT` in `accounts/states.py`"),
        ]
    )


def answers_page() -> str:
    """Returns docs/answers.md. The code that settles answers and receipts is asked for it."""
    return "\n".join(
        [
            "# Answers and receipts of carriers\n",
            "<!-- Made by tools/states from the code that settles them: change it there, and run"
            " `make docs`. -->\n",
            "This page tells what a carrier's answer to submit_sm and its delivery receipt make of"
            " a message, what settles a doubt, and which states a connection has.",
            CHECKED,
            "[States](states.md) lists the states themselves.\n",
            *answers(),
            *statuses(),
            *receipts(),
            *doubts(),
            *carriers(),
        ]
    )
