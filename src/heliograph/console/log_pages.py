"""Shows what operators have changed, and the same as a CSV file."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import line_of, neutralize
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, read_page
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.rendering import page
from heliograph.portal.export import pieces
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download
from heliograph.users import StoredOperatorEntry

AT_ONCE: Final = 1_000  # entries of a file, in one transaction
COMMA: Final = ","
CSV_COLUMNS: Final = (
    *("time", "by", "action", "account", "record"),
    *("before", "after", "reason"),
)
# what was done, in words
DONE: Final = {
    "account.close": "Closed an account for good",
    "account.create": "Created an account",
    "account.go_live": "Let an account go live",
    "account.limits": "Set an account's limits",
    "account.quotas": "Set an account's storage quotas",
    "account.rename": "Renamed an account",
    "account.resume": "Resumed an account",
    "account.see": "Began to look at an account's portal",
    "account.see_end": "Ended the look at an account's portal",
    "account.suspend": "Suspended an account",
    "alert.add": "Added who is told of alerts",
    "alert.remove": "Removed who is told of alerts",
    "alert.set": "Set a rule of alerts",
    "alert.test": "Sent a test alert",
    "alert.unwatch": "Ended the watch over a wallet",
    "alert.watch": "Watched a wallet",
    "campaign.cancel": "Canceled a campaign",
    "campaign.pause": "Paused a campaign",
    "campaign.resume": "Resumed a campaign",
    "carrier.add": "Added a carrier",
    "carrier.drain": "Let a carrier drain",
    "carrier.pause": "Paused a carrier",
    "carrier.remove": "Removed a carrier",
    "carrier.resume": "Let a carrier take messages again",
    "carrier.set": "Changed a carrier's settings",
    "cost.remove": "Removed a carrier's cost",
    "cost.set": "Set a carrier's cost",
    "carrier.try": "Tried to bind to a carrier",
    "credits.adjust": "Adjusted SMS credits",
    "credits.grant": "Granted SMS credits",
    "key.revoke": "Revoked an API key",
    "inbound.read": "Read a text that came in",
    "keyword.remove": "Removed a keyword",
    "keyword.save": "Added or changed a keyword",
    "ledger.verify": "Asked for a proof of the ledger",
    "message.cancel": "Canceled queued messages",
    "member.add": "Added somebody to an account",
    "member.remove": "Removed somebody from an account",
    "member.role": "Changed somebody's role in an account",
    "message.match": "Matched a receipt to a message",
    "message.read": "Read the text of a message",
    "message.resend": "Sent a message in doubt again",
    "message.settle": "Settled a message in doubt",
    "number.add": "Added a number for texts that come in",
    "number.remove": "Removed a number for texts that come in",
    "number.set": "Changed what a number does with texts that come in",
    "operator.add": "Made somebody an operator",
    "operator.remove": "Took somebody's role in the console away",
    "operator.role": "Changed somebody's role in the console",
    "opt_out.add": "Opted a phone out",
    "opt_out.remove": "Lifted the opt-out of a phone",
    "otp.block": "Blocked one-time passwords to a range",
    "otp.unblock": "Let one-time passwords go again",
    "phone.erase": "Erased a phone from what an account has stored",
    "price.remove": "Stopped selling credits in a currency",
    "price.set": "Set the price of credits",
    "rate.plan": "Planned a rate sheet",
    "rate.remove": "Removed a rate",
    "rate.set": "Set a rate",
    "rate.sheet": "Applied a rate sheet",
    "rate.withdraw": "Withdrew a rate sheet",
    "route.remove": "Removed a route",
    "route.set": "Set a route",
    "sender.approve": "Approved a sender ID",
    "sender.reject": "Rejected a sender ID",
    "sender.release": "Released a reserved name",
    "sender.reserve": "Reserved a name",
    "sender.suspend": "Suspended a sender ID",
    "tier.set": "Set a rate tier",
    "user.disable": "Took all of somebody's roles away",
    "user.link": "Gave somebody a sign-in link",
    "user.two_step_off": "Turned somebody's two-step sign-in off",
    "wallet.adjust": "Adjusted money",
    "wallet.pay_out": "Paid a wallet out",
    "wallet.topup": "Added money",
    "webhook.disable": "Disabled a webhook endpoint",
    "webhook.enable": "Enabled a webhook endpoint",
    "webhook.remove": "Removed a webhook endpoint",
}


class Selected(NamedTuple):
    """Says which entries are asked for: about an account (raw id), and of a user's address."""

    account_id: str | None
    email: str | None


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the entries that the query selects, newest first."""
    query = Query(request.sent.query)
    selected = _read(tx, query)
    wanted = read_page(query)
    errors: list[FieldError] = []
    found: list[StoredOperatorEntry] = []
    try:
        query.finish()
        found = list(_entries(tx, selected, with_one_more_row(wanted)))
    except InvalidRequest as refused:
        errors = list(refused.fields)
    displayed = list_page(request, wanted, found, lambda stored: stored.id)
    return page(
        "log.html",
        request,
        visit,
        status=400 if errors else 200,
        entries=displayed.rows,
        older=displayed.older,
        done=DONE,
        typed=dict(request.sent.query),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in ("account", "by")],
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the entries that the query selects as a file, newest first. Raises InvalidRequest."""
    query = Query(request.sent.query)
    selected = _read(tx, query)
    query.finish()

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        found = _entries(tx, selected, PageWanted(AT_ONCE + 1, before))
        in_file = found[:AT_ONCE]
        lines = "".join(_line(_cells(stored)) for stored in in_file)
        return lines, in_file[-1].id if len(found) > AT_ONCE else None

    lines = pieces(request, _line(CSV_COLUMNS), read_lines, operator_visit_of)
    return Download("operator-log.csv", lines)


def _read(tx: Connection, query: Query) -> Selected:
    """Reads which entries are selected. What is wrong is added to the query's errors."""
    account = query.text("account")
    email = query.text("by")
    account_id = None
    if account is not None:
        try:
            account_id = accounts.find(tx, account.strip()).id
        except (NotFound, InvalidRequest) as refused:
            query.errors.append(FieldError("account", f"was not found: {refused}"))
    return Selected(account_id, email and users.fold_email(email))


def _entries(tx: Connection, selected: Selected, wanted: PageWanted) -> "list[StoredOperatorEntry]":
    return list(
        users.operator_entries(tx, wanted, account_id=selected.account_id, email=selected.email)
    )


def _line(cells: Iterable[str]) -> str:
    return line_of(map(neutralize, cells), COMMA)


def _cells(stored: StoredOperatorEntry) -> tuple[str, ...]:
    entry = stored.entry
    return (
        rfc3339(stored.at_ms),
        stored.email,
        entry.action,
        stored.account or "",
        entry.record or "",
        entry.before or "",
        entry.after or "",
        entry.reason or "",
    )
