"""Creates an account, as the command does, and may give its first owner a link that signs in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.accounts import Account, account_fields
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.account_people import give_role
from heliograph.console.people_pages.sign_in_links import DoneForm, done_with_link, give_link
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.jobs.open_account import NewAccount, open_account
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.users import OperatorRight, Role
from heliograph.wallet import CREDITS_MAX, money

OPENING: Final = ("credits", "balance")  # what takes the right on money

T = TypeVar("T")


def show_form(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the form that creates an account, to those who may use it."""
    return page(
        "account_new.html",
        request,
        visit,
        status=400 if errors else 200,
        sends_mail=request.service.sends_mail,
        typed=request.sent.form or {"daily_credits": str(accounts.DAILY_CREDITS)},
        errors={error.field: error.message for error in errors},
    )


def create(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Creates an account with its wallet and, where the form has an address, its first owner.
    Raises InvalidRequest, NameTaken, and Forbidden for credits and money of somebody who may give
    none.
    """
    body = body_of(request)
    if any(field in body for field in OPENING):
        visit.require(OperatorRight.MONEY)
    wanted, reason = _read(request, body)

    def effect(tx: Connection) -> DoneForm:
        account = open_account(
            tx, wanted, is_same_name_allowed="same_name" in body, now_ms=request.now_ms
        )
        path = f"{ACCOUNTS}/{accounts.text_id(account)}"
        visit.audit(
            tx,
            account.id,
            "account.create",
            accounts.text_id(account),
            after=_in_words(account, wanted),
            reason=reason,
        )
        if "email" not in body:
            return DoneForm(path)
        owner = give_role(tx, request, visit, account, body["email"], Role.OWNER, reason=reason)
        return DoneForm(path, owner, give_link(tx, request, visit, owner, reason))

    return done_with_link(tx, request, visit, effect)


def _read(request: PageRequest, body: Mapping[str, str]) -> tuple[NewAccount, str]:
    """Returns what the form asks for, and the reason. Raises InvalidRequest with all that is
    wrong.
    """
    wrong: list[FieldError] = []

    def read(reads: Callable[[], T], otherwise: T) -> T:
        try:
            return reads()
        except InvalidRequest as refused:
            wrong.extend(refused.fields)
            return otherwise

    name = read(lambda: account_fields.read_name("name", body.get("name", "")), "")
    country = read(
        lambda: account_fields.known_country("country_code", body.get("country_code", "")), ""
    )
    currency = read(lambda: money.currency(body.get("currency", "")), "")
    balance, amount = 0, body.get("balance", "0")
    if currency:
        balance = read(lambda: money.to_minor(amount, currency, field="balance"), 0)
    numbers = ((field, body[field]) for field in ("credits", "daily_credits") if field in body)
    query = Query(numbers)
    credits = query.integer("credits", default=0, least=0, most=CREDITS_MAX)
    cap = query.integer("daily_credits", default=0, least=0, most=account_fields.DAILY_CREDITS_MAX)
    wrong += query.errors
    if "email" in body:
        read(lambda: users.read_email(body["email"]), "")
    reason = read(lambda: reason_of(request), "")
    if wrong:
        raise InvalidRequest(fields=wrong)
    wanted = NewAccount(
        name, country, currency, credits, balance, cap if "daily_credits" in body else None
    )
    return wanted, reason


def _in_words(account: Account, wanted: NewAccount) -> str:
    """Returns what the log holds, such as `Amina Foods, GH, 0 SMS credits, 0.00 GHS`."""
    held = money.to_text(wanted.balance_minor, wanted.currency)
    return f"{account.name}, {account.country_code}, {wanted.credits} SMS credits, {held}"
