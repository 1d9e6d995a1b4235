"""Shows an account's wallet, its ledger and its months, and corrects it, as the commands do."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, wallet
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InsufficientCredits, InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import invalid_field
from heliograph.console.money_pages.months import month_of, this_month
from heliograph.console.navigation import MONEY
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.export import pieces
from heliograph.portal.filled_form import NUMBER, body_of, choice_of
from heliograph.portal.form_idempotency import once_value_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, Download, redirect
from heliograph.wallet import Entry, account_ledger, files, ledger, money, pay_out
from heliograph.wallet.files import ledger_file

ENTRIES_SHOWN: Final = 20
REFERENCE_PREFIX: Final = "console-"  # so that the ledger tells where an entry was made


class WalletChange(NamedTuple):
    """Says what a button does: which field has the amount, which action the logs name, and what
    makes the ledger entry.
    """

    field: str
    action: str
    make: Callable[..., ledger.Posted]


CHANGES: Final = {
    "grant": WalletChange("credits", "credits.grant", ledger.grant),
    "adjust credits": WalletChange("credits", "credits.adjust", ledger.adjust_credits),
    "top up": WalletChange("amount", "wallet.topup", ledger.topup),
    "adjust money": WalletChange("amount", "wallet.adjust", ledger.adjust_money),
}
PAY_OUT: Final = "pay out"


def show_wallet(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows an account's wallet, the statement of a month, the newest entries of its ledger, and
    the forms that change it. Raises NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    held = wallet.wallet_of(tx, account.id)
    wrong = list(errors)
    month = month_of(request)
    try:
        statement = files.statement(tx, account.id, month)
    except InvalidRequest as refusal:
        wrong += refusal.fields
        statement = files.statement(tx, account.id, this_month(request))
    entries = account_ledger.page(tx, account.id, PageWanted(ENTRIES_SHOWN, None))
    return page(
        "wallet.html",
        request,
        visit,
        status=400 if wrong else 200,
        account=account,
        text_id=accounts.text_id(account),
        wallet=held,
        held=_figures_in_words(held.sms_credits, held.balance_minor, held.currency),
        statement=statement,
        entries=entries[:ENTRIES_SHOWN],
        is_cut=len(entries) > ENTRIES_SHOWN,
        typed={"month": month, **body_of(request)},
        errors={error.field: error.message for error in wrong},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Grants or adjusts credits, adds or adjusts money, or pays all of it out. The same form does
    it once. Raises NotFound, AccountClosed, InvalidRequest.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), (*CHANGES, PAY_OUT))
    reason = reason_of(request)
    account = accounts.with_text_id(tx, request.path["account"])
    if wanted == PAY_OUT:
        return _pay_out(tx, visit, account, reason, body_of(request).get("shown", ""))
    chosen = CHANGES[wanted]
    body = body_of(request)
    amount = _number(chosen.field, body.get(chosen.field, ""))
    reference = body.get("reference") or f"{REFERENCE_PREFIX}{once_value_of(request)}"
    try:
        posted = chosen.make(tx, account.id, amount, reason, reference, now_ms=request.now_ms)
    except InsufficientCredits as short:
        raise invalid_field(chosen.field, f"is more than there is: {short}") from short
    text_id = accounts.text_id(account)
    if posted.applied:
        before, after = _in_words(posted.entry)
        visit.audit(
            tx, account.id, chosen.action, text_id, before=before, after=after, reason=reason
        )
    return redirect(f"{MONEY}/{text_id}", DoneNotice.SAVED)


def _pay_out(
    tx: Connection, visit: OperatorVisit, account: Account, reason: str, shown: str
) -> Response:
    """Takes all credits and money out of a wallet. One that is empty was paid out already. Raises
    InvalidRequest if it holds something else than the page has shown.
    """
    text_id = accounts.text_id(account)
    path = f"{MONEY}/{text_id}"
    entries = pay_out.pay_out(tx, account, reason)
    if not entries:
        return redirect(path, DoneNotice.DONE_ALREADY)
    before, _ = _in_words(entries[0])
    _, after = _in_words(entries[-1])
    if shown != before:
        raise invalid_field("shown", f"is not what you saw, but {before}")
    visit.audit(
        tx, account.id, "wallet.pay_out", text_id, before=before, after=after, reason=reason
    )
    return redirect(path, DoneNotice.SAVED)


def export_entries(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the entries of a month as a file, newest first. Raises NotFound, InvalidRequest."""
    account = accounts.with_text_id(tx, request.path["account"])
    span = files.read_month(month_of(request))

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        wanted = PageWanted(ledger_file.PAGE, before)
        read = account_ledger.page(tx, account.id, wanted, span)
        in_file = read[: wanted.limit]
        return ledger_file.lines(in_file), in_file[-1].id if len(read) > wanted.limit else None

    lines = pieces(request, ledger_file.first_line(), read_lines, operator_visit_of)
    return Download(f"ledger-{accounts.text_id(account)}.csv", lines)


def _in_words(entry: Entry) -> tuple[str, str]:
    """Returns what the wallet held before an entry, and after it."""
    return (
        _figures_in_words(
            entry.credits_after - entry.credits,
            entry.balance_after_minor - entry.amount_minor,
            entry.currency,
        ),
        _figures_in_words(entry.credits_after, entry.balance_after_minor, entry.currency),
    )


def _figures_in_words(credits: int, balance_minor: int, currency: str) -> str:
    """Returns what a wallet holds, as the log says it."""
    return f"{credits} SMS credits, {money.to_text(balance_minor, currency)}"


def _number(field: str, text: str) -> int | str:
    digits = "".join(text.split())
    if not NUMBER.fullmatch(digits) or (field == "credits" and "." in digits):
        kind = "a whole number" if field == "credits" else "a number"
        raise invalid_field(field, f"must be {kind}, not {quote_value(text)}")
    return int(digits) if field == "credits" else digits
