"""The overview: what an account has, and what to do first."""

from typing import NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import keys, senders, wallet
from heliograph.accounts import Account
from heliograph.base.paging import PageWanted
from heliograph.messages import read
from heliograph.portal.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit, home_of
from heliograph.webhooks import endpoints

LAST_MESSAGES = 8


class FirstStep(NamedTuple):
    """A first step, and whether it is done."""

    text: str
    how: str
    is_done: bool


def overview(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows what the account of this visit has, and its last messages."""
    account = visit.account
    held = wallet.wallet_of(tx, account.id)
    found = read.report(
        tx, account.id, PageWanted(LAST_MESSAGES, None), read.Filters(), sandbox=False
    )
    return page(
        "overview.html",
        asking,
        visit=visit,
        sms_credits=held.shown.sms_credits,
        money=wallet.to_text(held.shown.balance_minor, held.currency),
        messages=[row(message) for message in found.messages],
        others=[(other.name, home_of(other)) for other in visit.others],
        steps=_steps(tx, account, bool(found.messages)),
    )


def _steps(tx: Connection, account: Account, has_sent: bool) -> list[FirstStep]:
    """Returns what an account does first, in order."""
    return [
        FirstStep(
            "Have a sender ID approved",
            "It is the name that your texts come from.",
            bool(senders.usable(tx, account.id, sandbox=False)),
        ),
        FirstStep(
            "Make an API key",
            "A program of yours sends with it.",
            bool(keys.page(tx, limit=1, account_id=account.id)),
        ),
        FirstStep("Send a first text", "It shows up below within a second.", has_sent),
        FirstStep(
            "Receive a webhook",
            "It tells your program what became of each text.",
            bool(endpoints.all_endpoints(tx, account.id, limit=1)),
        ),
    ]
