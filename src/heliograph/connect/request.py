"""Reads the bodies of POST /connect/customers and …/credits, and checks their form. It needs no
database.
"""

import math
from typing import Any, NamedTuple

from heliograph.accounts import account_fields
from heliograph.accounts.tables import EXTERNAL_REF_MAX, LABEL_MAX
from heliograph.base.forms import (
    Form,
    RoundedNumber,
    as_text,
    quote_value,
    read_email_address,
    text_reader,
)
from heliograph.base.short_texts import one_line
from heliograph.base.unknown_fields import COUNTRY, FIGURES, ONCE, PRICE, TEST, TIME
from heliograph.text import read_country, read_phone
from heliograph.wallet import CREDITS_MAX, ledger, money


class CustomerRequest(NamedTuple):
    """Describes a customer as its partner asked for it. `initial_balance` is in the currency's
    whole units. If `currency` is None, it is the partner's.
    """

    full_name: str
    phone: str  # E.164 digits
    country_code: str
    email: str | None = None
    external_ref: str | None = None
    label: str | None = None
    initial_credits: int = 0
    initial_balance: int | float = 0
    currency: str | None = None


class CreditsRequest(NamedTuple):
    """Says how many credits move to a customer; below zero, they move back to the partner."""

    credits: int
    reference: str | None


def read_customer_request(body: dict[str, Any]) -> tuple[CustomerRequest, list[str]]:
    """Returns the request (docs/api.md, "Connect") and its warnings. Raises InvalidRequest for all
    bad fields together.
    """
    form = Form(body, costly=(FIGURES, TEST, COUNTRY, ONCE))
    full_name = form.value(
        "full_name",
        read=text_reader(lambda text: account_fields.read_name("full_name", text)),
        required=True,
    )
    country_code = form.value("country_code", "countryCode", read=read_country, required=True)
    phone = form.value("phone", read=lambda value: read_phone(value, country_code), required=True)
    email = form.value("email", read=_email)
    external_ref = form.value(
        "external_ref",
        read=text_reader(lambda text: one_line("external_ref", text, most=EXTERNAL_REF_MAX)),
    )
    label = form.value(
        "label", read=text_reader(lambda text: one_line("label", text, most=LABEL_MAX))
    )
    initial_credits = form.integer("initial_sms_credits", least=0, most=CREDITS_MAX)
    initial_balance = form.value("initial_wallet_balance", read=_amount)
    wanted_currency = form.value("currency", read=text_reader(money.currency))
    form.finish()
    assert full_name is not None
    assert country_code is not None
    assert phone is not None
    request = CustomerRequest(
        full_name,
        phone.digits,
        country_code,
        email=email,
        external_ref=external_ref,
        label=label,
        initial_credits=initial_credits or 0,
        initial_balance=initial_balance or 0,
        currency=wanted_currency,
    )
    return request, form.warnings()


def read_credits_request(
    body: dict[str, Any], *, is_back: bool | None = None
) -> tuple[CreditsRequest, list[str]]:
    """Reads a move of credits, as `read_customer_request` reads a customer. The sign of `credits`
    says which way they move; if `is_back` says that, they have none, and are 1 or more.
    """
    form = Form(body, costly=(FIGURES, TEST, TIME, PRICE, ONCE))
    least = -CREDITS_MAX if is_back is None else 1
    credits = form.integer("credits", required=True, least=least, most=CREDITS_MAX)
    if credits == 0:
        form.refuse("credits", "must not be 0")
    reference = form.value(
        "reference",
        read=text_reader(lambda text: one_line("reference", text, most=ledger.REFERENCE_MAX)),
    )
    form.finish()
    assert credits is not None
    return CreditsRequest(-credits if is_back else credits, reference), form.warnings()


def _email(value: Any) -> str:
    return read_email_address(as_text(value))


def _amount(value: Any) -> int | float:
    """Reads an amount; its decimals are judged where its currency is known."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value < 0
    ):
        raise ValueError(f"must be a number of 0 or more, not {quote_value(value)}")
    if isinstance(value, RoundedNumber):
        raise ValueError("has more digits than can be kept exactly")
    return value
