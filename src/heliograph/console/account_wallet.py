"""Shows the wallet of an account, and gives, corrects and tops up what it holds."""

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, wallet
from heliograph.base.errors import FieldError, InsufficientCredits
from heliograph.base.forms import shown
from heliograph.base.paging import ALWAYS, PageWanted
from heliograph.base.short_texts import refused
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import choice_of
from heliograph.portal.once import new_once, once_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Said, led_on
from heliograph.users import OperatorRight
from heliograph.wallet import Posted

ENTRIES_SHOWN: Final = 20
REFERENCE_PREFIX: Final = "console-"  # so that the ledger tells where an entry was made
FIELDS: Final = ("do", "amount", "reason")
DIGITS_MAX: Final = 20  # of what is typed: more than any figure has


class WalletChange(NamedTuple):
    """Says what a choice of the form does. `of_money` changes take an amount of the wallet's
    currency, the others a whole number of credits.
    """

    words: str
    of_money: bool
    make: Callable[..., Posted]


CHANGES: Final = {
    "grant": WalletChange("Give SMS credits", of_money=False, make=wallet.grant),
    "adjust credits": WalletChange(
        "Correct the SMS credits, up or down", of_money=False, make=wallet.adjust_credits
    ),
    "top up": WalletChange("Add money", of_money=True, make=wallet.topup),
    "adjust money": WalletChange(
        "Correct the money, up or down", of_money=True, make=wallet.adjust_money
    ),
}


def one(
    tx: Connection,
    asking: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the wallet, its newest entries, and the form to those who may use it. Raises
    NotFound.
    """
    account = accounts.with_text_id(tx, asking.path["account"])
    held = wallet.wallet_of(tx, account.id)
    entries = wallet.history(tx, account.id, PageWanted(ENTRIES_SHOWN, None), ALWAYS, None)
    return page(
        "account_wallet.html",
        asking,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        wallet=held,
        entries=[(entry, wallet.as_record(entry)) for entry in entries[:ENTRIES_SHOWN]],
        may_change=visit.may(OperatorRight.MONEY) and account.closed_at_ms is None,
        changes=CHANGES,
        typed=asking.sent.form,
        errors={_shown_field(error): error.message for error in errors},
        others=[error for error in errors if _shown_field(error) not in FIELDS],
        once=new_once(),
    )


def change(tx: Connection, asking: PageRequest, visit: OperatorVisit) -> Response:
    """Makes the ledger entry, as the commands do. The same form makes it once. Raises NotFound,
    AccountClosed, InvalidRequest.
    """
    form = asking.sent.form
    wanted = choice_of("do", form.get("do", ""), tuple(CHANGES))
    chosen = CHANGES[wanted]
    amount = _read_amount(form.get("amount", ""), of_money=chosen.of_money)
    reason = reason_of(asking)
    account = accounts.with_text_id(tx, asking.path["account"])
    before = wallet.wallet_of(tx, account.id)
    reference = f"{REFERENCE_PREFIX}{once_of(asking)}"
    try:
        posted = chosen.make(tx, account.id, amount, reason, reference, now_ms=asking.now_ms)
    except InsufficientCredits as short:
        raise refused("amount", f"is more than there is: {short}") from short
    if posted.applied:
        entry, record = posted.entry, wallet.as_record(posted.entry)
        visit.audit(
            tx,
            account.id,
            f"wallet.{wanted.replace(' ', '_')}",
            record["id"],
            before=_figures(before.shown.sms_credits, before.shown.balance_minor, before.currency),
            after=_figures(entry.credits_after, entry.balance_after_minor, entry.currency),
            reason=reason,
        )
    return led_on(f"{ACCOUNTS}/{accounts.text_id(account)}/wallet", Said.SAVED)


def _read_amount(typed: str, *, of_money: bool) -> Decimal | int:
    """Returns what was typed as a number. Spaces between digits are left out. Raises
    InvalidRequest.
    """
    digits = "".join(typed.split())
    try:
        number = Decimal(digits) if len(digits) <= DIGITS_MAX else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise refused("amount", f"must be a number such as 250, not {shown(typed)}")
    if of_money:
        return number
    if number != number.to_integral_value():
        raise refused("amount", f"must be a whole number of credits, not {shown(typed)}")
    return int(number)


def _shown_field(error: FieldError) -> str:
    """Returns the field of the form that an error stands at: use cases call the amount after what
    it is of.
    """
    return "amount" if error.field in ("credits", "amount") else error.field


def _figures(credits: int, balance_minor: int, currency: str) -> str:
    return f"{credits} credits, {wallet.to_text(balance_minor, currency)}"
