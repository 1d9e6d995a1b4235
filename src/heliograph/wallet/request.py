"""Reads what a form of the wallet is filled in with, and checks its form. It needs no database."""

from collections.abc import Mapping
from typing import Any

from heliograph.base.forms import Form
from heliograph.wallet.money import MINOR_MAX, to_minor
from heliograph.wallet.wallet import CREDITS_MAX, Thresholds


def read_purchase(body: Mapping[str, Any]) -> int:
    """Returns how many SMS credits are to be bought. Raises InvalidRequest."""
    form = Form(body)
    credits = form.integer("credits", required=True, least=1, most=CREDITS_MAX)
    form.finish()
    assert credits is not None
    return credits


def read_thresholds(body: Mapping[str, Any], currency: str) -> Thresholds:
    """Returns below which figures `wallet.low_balance` is sent; what is not given means never.
    Raises InvalidRequest.
    """
    form = Form(body)
    credits = form.integer("low_balance_credits", least=0, most=MINOR_MAX)
    amount = form.value("low_balance_amount", read=lambda value: value)
    form.finish()
    field = "low_balance_amount"
    return Thresholds(credits, None if amount is None else to_minor(amount, currency, field=field))
