"""Shows what was sold, spent and given back by day: of all accounts, and of one."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import accounts
from heliograph.base.clock import date_in_utc
from heliograph.base.csv.cells import line_of
from heliograph.base.errors import FieldError, InvalidRequest, NotFound, Unavailable
from heliograph.base.forms import Query
from heliograph.console.money_pages.day_figures import figures_by_day, minute_in_utc
from heliograph.console.navigation import MONEY
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, Download
from heliograph.wallet import ledger_hours, money, prices
from heliograph.wallet.ledger_hours import DaySums

ADDED_UP_S: Final = 60  # before a file is asked for again whose entries are being added up
COLUMNS: Final = ("day", "type", "currency", "entries", "credits", "amount")


def show_all_accounts(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the last days of all accounts. Asks for an account, and leads to its money. The
    prices of credits stand below.
    """
    query = Query(request.sent.query)
    looked_for = (query.text("account") or "").strip()
    query.finish()
    errors: list[FieldError] = []
    if looked_for:
        try:
            account = accounts.find(tx, looked_for)
            path = f"{MONEY}/{accounts.text_id(account)}"
            return RedirectResponse(path, SEE_OTHER, HEADERS)
        except (NotFound, InvalidRequest) as none:
            errors.append(FieldError("account", f"was not found: {none}"))
    return page(
        "wallets.html",
        request,
        visit,
        status=400 if errors else 200,
        prices=prices.all_prices(tx),
        figures=figures_by_day(tx, None, request.now_ms),
        typed={"account": looked_for},
        errors={error.field: error.message for error in errors},
    )


def show_account(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the last days of an account. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    Query(request.sent.query).finish()
    return page(
        "money_days.html",
        request,
        visit,
        account=account,
        text_id=accounts.text_id(account),
        figures=figures_by_day(tx, account.id, request.now_ms),
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the last days of all accounts as a file, oldest first."""
    Query(request.sent.query).finish()
    days = _whole_days(tx, None, request.now_ms)
    return Download("money-by-day.csv", _lines(days))


def export_account(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the last days of an account as a file, oldest first. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    Query(request.sent.query).finish()
    days = _whole_days(tx, account.id, request.now_ms)
    return Download(f"money-by-day-{accounts.text_id(account)}.csv", _lines(days))


def _whole_days(tx: Connection, account_id: str | None, now_ms: int) -> list[DaySums]:
    """Returns the figures that a file shows. Raises Unavailable if some are missing: a page says
    so, and a file cannot.
    """
    summed = ledger_hours.summed_days(tx, account_id, now_ms)
    if summed.missing_from_ms is not None:
        raise Unavailable(
            f"Entries from {minute_in_utc(summed.missing_from_ms)} UTC on are still being added up,"
            " and the file would be without them. Try again in some minutes.",
            retry_after_s=ADDED_UP_S,
        )
    return summed.days


def _lines(days: list[DaySums]) -> Iterator[str]:
    yield line_of(COLUMNS, ",")
    yield "".join(
        line_of(
            (
                date_in_utc(each.day_ms),
                each.type,
                each.currency,
                str(each.entries),
                str(each.credits),
                str(money.to_number(each.amount_minor, each.currency)),
            ),
            ",",
        )
        for each in days
    )
