"""Shows the overview: what an account has, and what to do first."""

from datetime import timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import keys, senders, wallet
from heliograph.base.paging import PageWanted
from heliograph.messages import read
from heliograph.messages.reports import rollup_reports
from heliograph.messages.reports.rollup_reports import MessageFigures, ReportOf
from heliograph.messages.tables import ERROR_CODES
from heliograph.portal.languages import _, marked
from heliograph.portal.languages.formats import grouped, money
from heliograph.portal.message_pages.failure_advice import ADVICE
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import YOU, PageRequest
from heliograph.portal.plots import DAY, HOUR, Plot, plot_of
from heliograph.portal.rendering import page
from heliograph.portal.report_pages.report_tables import LAST_HOURS, last_hours
from heliograph.portal.visit import Visit, home_of
from heliograph.users import Right, passwords
from heliograph.wallet import Wallet, account_ledger
from heliograph.webhooks import endpoints, history
from heliograph.webhooks.endpoints import ENDPOINTS_PER_ACCOUNT_MAX
from heliograph.webhooks.states import FAILING, GONE

LAST_MESSAGES = 8
NOTICES_MAX = 5
DAYS: Final = 30
APPROVED_SENDER: Final = marked("Have a sender ID approved")
LIVE_TEXT: Final = marked("Send a live text")


# who can take a step that the reader cannot take
WHO_CAN: Final = {
    Right.SEND: marked("Owners, developers and marketers of this account can do it."),
    Right.SENDERS: marked("Owners and marketers of this account can do it."),
    Right.KEYS: marked("Owners and developers of this account can do it."),
    Right.WEBHOOKS: marked("Owners and developers of this account can do it."),
}


class FirstStep(NamedTuple):
    """Describes a first step: the page where it is taken, whether it is done, and what it takes, if
    not every member may take it.
    """

    text: str
    how: str
    page: str
    is_done: bool
    right: Right | None = None

    def as_shown_to(self, visit: Visit) -> "FirstStep":
        """Returns the step as it is told to this reader: who may not take it is led nowhere, and
        told who can.
        """
        if self.right is None or visit.may(self.right):
            return self
        return self._replace(how=WHO_CAN[self.right], page="")


class FailureCount(NamedTuple):
    """Counts the messages that failed with one error code."""

    code: str
    messages: int


class RecentActivity(NamedTuple):
    """Counts what was sent today, in the last hours, and in the last days, in the mode that the
    account has first. `reasons` counts what has failed in these days by the code of its error.
    """

    today: MessageFigures
    hours: Plot
    days: Plot
    reasons: list[FailureCount]


class Attention(NamedTuple):
    """Says what is wrong, and the page where it is mended."""

    text: str
    page: str


def show_overview(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows what the account of this visit has, and its last messages."""
    account = visit.account
    held = wallet.wallet_of(tx, account.id)
    found = read.report(
        tx, account.id, PageWanted(LAST_MESSAGES, None), read.Filters(), sandbox=account.sandbox
    )
    return page(
        "overview.html",
        request,
        visit=visit,
        sms_credits=held.visible_figures.sms_credits,
        money=money(held.visible_figures.balance_minor, held.currency),
        messages=[row(message) for message in found.messages],
        activity=_activity(tx, request, visit),
        advice=ADVICE,
        others=[(other.name, home_of(other)) for other in visit.others],
        notices=_notices(tx, visit, held),
        steps=_steps(tx, visit, bool(found.messages)),
    )


def _activity(tx: Connection, request: PageRequest, visit: Visit) -> RecentActivity | None:
    """Returns what was sent lately, or None if nothing was."""
    account = visit.account
    zone, of = ZoneInfo(account.time_zone), ReportOf(account.id, sandbox=account.sandbox)
    today = rollup_reports.day_of(request.now_ms, zone)
    days = rollup_reports.parts_of(
        tx, of, rollup_reports.spans_of_days(today - timedelta(days=DAYS - 1), today, zone)
    )
    added = rollup_reports.total(day.figures for day in days)
    if not added.messages:
        return None
    hours = last_hours(tx, visit, visit.mode, request.now_ms)
    reasons = [
        FailureCount(code, messages)
        for code, messages in zip(ERROR_CODES, added.errors, strict=True)
        if messages
    ]
    return RecentActivity(
        days[-1].figures,
        plot_of("hours", _("Last %(hours)s hours", hours=LAST_HOURS), HOUR, hours),
        plot_of("days", _("Last %(days)s days", days=DAYS), DAY, days),
        sorted(reasons, key=lambda reason: -reason.messages),
    )


def _notices(tx: Connection, visit: Visit, held: Wallet) -> list[Attention]:
    """Returns what somebody should look at, the most urgent first."""
    found = _low_balances(tx, visit, held)
    for endpoint in endpoints.all_endpoints(
        tx, visit.account.id, limit=2 * ENDPOINTS_PER_ACCOUNT_MAX
    ):
        page_of_it = f"{visit.home}/webhooks/{endpoints.text_id(endpoint.id)}"
        if endpoint.disabled_reason in (FAILING, GONE):
            text = _("The webhook endpoint %(url)s was disabled.", url=endpoint.url)
            found.append(Attention(text, page_of_it))
        elif endpoint.failing_since_ms is not None:
            text = _("Deliveries to the webhook endpoint %(url)s fail.", url=endpoint.url)
            found.append(Attention(text, page_of_it))
    return found[:NOTICES_MAX]


def _low_balances(tx: Connection, visit: Visit, own_wallet: Wallet) -> list[Attention]:
    """Returns which figures of the wallet are below their thresholds. A wallet that never held
    anything is not low, but new.
    """
    if not account_ledger.page(tx, visit.account.id, PageWanted(1, None)):
        return []
    warnings, money_page = list[Attention](), f"{visit.home}/money"
    least_credits = own_wallet.low_balance_credits
    if own_wallet.has_few_credits and least_credits is not None:
        text = _(
            "There are fewer than %(credits)s SMS credits left.",
            credits=grouped(least_credits),
        )
        warnings.append(Attention(text, money_page))
    least_minor = own_wallet.low_balance_amount_minor
    if own_wallet.has_little_money and least_minor is not None:
        least = money(least_minor, own_wallet.currency)
        warnings.append(Attention(_("There is less than %(least)s left.", least=least), money_page))
    return warnings


def _steps(tx: Connection, visit: Visit, has_sent: bool) -> list[FirstStep]:
    """Returns what an account, and whoever looks at it, does first, in order."""
    account_id, home = visit.account.id, visit.home
    steps = [
        FirstStep(
            marked("Set a password"),
            marked("You need no link any more."),
            YOU,
            passwords.find(tx, visit.session.user.email) is not None,
        ),
        FirstStep(
            marked("Send a text in sandbox"),
            marked("The quickstart has programs to copy. It costs nothing."),
            f"{home}/quickstart",
            has_sent or _has_sent(tx, account_id, sandbox=True),
            Right.SEND,
        ),
        FirstStep(
            APPROVED_SENDER,
            marked("It is the name that your texts come from."),
            f"{home}/senders",
            bool(senders.usable(tx, account_id, sandbox=False)),
            Right.SENDERS,
        ),
        FirstStep(
            marked("Make an API key"),
            marked("A program of yours sends with it."),
            f"{home}/keys",
            bool(keys.page(tx, limit=1, account_id=account_id)),
            Right.KEYS,
        ),
        FirstStep(
            LIVE_TEXT,
            marked("It shows up below within a second."),
            f"{home}/send",
            has_sent,
            Right.SEND,
        ),
        FirstStep(
            marked("Receive a webhook"),
            marked("It tells your program what became of each text."),
            f"{home}/webhooks",
            history.has_answered(tx, account_id),
            Right.WEBHOOKS,
        ),
    ]
    steps = [step.as_shown_to(visit) for step in steps]
    if not visit.account.sandbox:
        return steps
    # steps that are refused until the operator lets the account go live are not shown yet
    possible = [step for step in steps if step.text not in (APPROVED_SENDER, LIVE_TEXT)]
    return [
        *possible,
        FirstStep(marked("Go live"), marked("Ask whoever runs this service."), "", False),
    ]


def _has_sent(tx: Connection, account_id: str, *, sandbox: bool) -> bool:
    found = read.report(tx, account_id, PageWanted(1, None), read.Filters(), sandbox=sandbox)
    return bool(found.messages)
