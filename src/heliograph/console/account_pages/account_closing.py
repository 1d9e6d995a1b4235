"""Shows what is owed before an account can be closed, and closes it as the command does."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, inbound, keys
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.console.navigation import ACCOUNTS, MESSAGES, MONEY
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.jobs import close_account
from heliograph.jobs.close_account import Debt, DebtKind, StillOwed
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.webhooks import endpoints

ENDING_COUNTED_MAX: Final = 200  # keys, endpoints and numbers that the page counts


class ShownDebt(NamedTuple):
    """Holds one thing that is owed, and the page where it is cleared, if there is one."""

    debt: Debt
    path: str | None


class Ending(NamedTuple):
    """Says how many things of an account end with it, of each kind up to ENDING_COUNTED_MAX."""

    how_many: int
    one: str
    several: str

    @property
    def in_words(self) -> str:
        more = "+" if self.how_many >= ENDING_COUNTED_MAX else ""
        return f"{self.how_many}{more} {self.one if self.how_many == 1 else self.several}"


def ask_closing(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows what is owed, in the order in which it is cleared; or else what ends, and the form that
    closes the account. Raises NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    is_open = account.closed_at_ms is None
    debts = close_account.find_debts(tx, account) if is_open else []
    return page(
        "account_closing.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        debts=[ShownDebt(debt, _path_of(debt)) for debt in debts],
        endings=_endings(tx, account) if is_open and not debts else [],
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def close(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Closes the account for good. One that is closed was closed already. Raises NotFound, and
    InvalidRequest while anything is owed.
    """
    reason = reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    before = accounts.lock(tx, found.id)  # nobody else changes it between the two
    path = f"{ACCOUNTS}/{accounts.text_id(before)}"
    if before.closed_at_ms is not None:
        return redirect(path, DoneNotice.DONE_ALREADY)
    try:
        after = close_account.close(tx, before.id, reason, visit.by, now_ms=request.now_ms)
    except StillOwed as owed:
        raise InvalidRequest(
            "Nothing was closed, because something is owed by now. It stands below."
        ) from owed
    visit.audit(
        tx,
        before.id,
        "account.close",
        accounts.text_id(before),
        before=before.shown_status,
        after=after.shown_status,
        reason=reason,
    )
    return redirect(path, DoneNotice.SAVED)


def _path_of(debt: Debt) -> str | None:
    """Returns the page where a debt is cleared, or None if only its command clears it."""
    return {
        DebtKind.CAMPAIGN: f"{ACCOUNTS}/{debt.account}/campaigns/{debt.record}",
        DebtKind.CUSTOMER: f"{ACCOUNTS}/{debt.account}/close",
        DebtKind.DOUBT: MESSAGES,
        DebtKind.ENDPOINT: f"{ACCOUNTS}/{debt.account}/webhooks/{debt.record}",
        DebtKind.QUEUED: f"{ACCOUNTS}/{debt.account}/queued",
        DebtKind.WALLET: f"{MONEY}/{debt.account}",
    }.get(debt.kind)


def _endings(tx: Connection, account: Account) -> list[Ending]:
    """Returns what ends with the account, but for kinds of which it has none."""
    working = [
        key
        for key in keys.page(tx, limit=ENDING_COUNTED_MAX, account_id=account.id)
        if key.revoked_at_ms is None
    ]
    enabled = [
        endpoint
        for endpoint in endpoints.all_endpoints(tx, account.id, limit=ENDING_COUNTED_MAX)
        if endpoint.disabled_at_ms is None
    ]
    numbers = inbound.find_numbers(tx, account_id=account.id, limit=ENDING_COUNTED_MAX)
    found = [
        Ending(len(working), "API key is revoked", "API keys are revoked"),
        Ending(len(enabled), "webhook endpoint is disabled", "webhook endpoints are disabled"),
        Ending(len(numbers), "number is given back", "numbers are given back"),
    ]
    return [each for each in found if each.how_many]
