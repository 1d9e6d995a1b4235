"""Lets a partner provision a customer: an account with a wallet, and what the partner gives it to
begin with.
"""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, wallet
from heliograph.accounts import customers
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.connect.customer import Customer, by_id, with_ref
from heliograph.connect.request import CustomerRequest
from heliograph.wallet import daily_cap, money


class CurrencyMismatch(InvalidRequest):
    """Money can only be given in the partner's own currency."""

    reason = "currency_mismatch"


class Provisioned(NamedTuple):
    """Holds the customer that was asked for. If `created` is False, it is the one that was made
    earlier for this `external_ref`, unchanged.
    """

    customer: Customer
    created: bool


def provision(
    tx: Connection, partner_id: str, request: CustomerRequest, *, sandbox: bool, now_ms: int
) -> Provisioned:
    """Makes a new customer of the partner. With an `external_ref` there is one for ever, also when
    equal requests race.

    What it begins with moves from the partner's wallet. In sandbox nobody pays, and the figures are
    the customer's to look at (docs/api.md, "Sandbox"). Raises CurrencyMismatch, InvalidRequest for
    money with more decimals than its currency, InsufficientCredits, DailyCapReached, AccountClosed.
    """
    if request.external_ref is not None:
        existing = with_ref(tx, partner_id, request.external_ref, sandbox=sandbox)
        if existing is None:
            # who comes second waits here, and finds what the first has made
            accounts.lock(tx, partner_id)
            existing = with_ref(tx, partner_id, request.external_ref, sandbox=sandbox)
        if existing is not None:
            return Provisioned(existing, created=False)
    # a partner is closed when its customers are: none comes meanwhile
    accounts.keep_open(tx, partner_id)
    currency, opening_figures = _given(request, wallet.wallet_of(tx, partner_id).currency)
    account = accounts.create(
        tx,
        request.full_name,
        request.country_code,
        parent_id=partner_id,
        sandbox=sandbox,
        daily_credits=accounts.by_id(tx, partner_id).daily_credits,
        now_ms=now_ms,
    )
    wallet.open_wallet(tx, account.id, currency, sandbox=opening_figures if sandbox else None)
    customers.store_details(
        tx,
        customers.CustomerDetails(
            account.id,
            partner_id,
            sandbox,
            external_ref=request.external_ref,
            label=request.label,
            phone=request.phone,
            email=request.email,
        ),
    )
    if any(opening_figures) and not sandbox:
        entry = wallet.transfer(
            tx,
            partner_id,
            account.id,
            amount_minor=opening_figures.balance_minor,
            credits=opening_figures.sms_credits,
            description=f"Connect: to begin with, to {accounts.text_id(account)}",
        )
        if opening_figures.sms_credits:
            daily_cap.count_moved(
                tx, partner_id, account.id, opening_figures.sms_credits, entry.created_at_ms
            )
    return Provisioned(by_id(tx, partner_id, account.id, sandbox=sandbox), created=True)


def _given(request: CustomerRequest, partners_currency: str) -> tuple[str, wallet.Figures]:
    """Returns the customer's currency, and the figures that its wallet begins with."""
    currency = request.currency or partners_currency
    if request.initial_balance and currency != partners_currency:
        wanted = FieldError(
            "currency",
            f"must be {partners_currency}, like the partner's, for an initial balance; not"
            f" {currency}",
        )
        raise CurrencyMismatch(fields=[wanted])
    return currency, wallet.Figures(
        money.to_minor(request.initial_balance, currency, field="initial_wallet_balance"),
        request.initial_credits,
    )
