"""Reads what an owner sets on an account. Two of these settings are limits of the operator's, too:
an owner tightens them, and only the operator loosens them.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from heliograph.accounts import account_fields
from heliograph.accounts.account import Account
from heliograph.accounts.account_fields import DAILY_CREDITS_MAX, known_country, known_time_zone
from heliograph.base.errors import FieldError
from heliograph.base.forms import Form, text_reader


class OwnerSettings(NamedTuple):
    """Holds the settings that an owner has asked for. `None` is no limit."""

    name: str
    country_code: str
    time_zone: str
    countries: Collection[str] | None
    daily_credits: int | None


def read_owner_settings(body: Mapping[str, Any], account: Account) -> OwnerSettings:
    """Reads the settings that an owner asks for. A limit that is not given is no limit.
    `countries` is a list of codes.

    Raises InvalidRequest, with all fields that are wrong: also for more countries, or more credits
    in a day, than the account has now.
    """
    form = Form(body)
    asked = OwnerSettings(
        form.value(
            "name", read=text_reader(partial(account_fields.read_name, "name")), required=True
        )
        or "",
        form.value(
            "country_code", read=text_reader(partial(known_country, "country_code")), required=True
        )
        or "",
        form.value("time_zone", read=text_reader(known_time_zone), required=True) or "",
        form.value("countries", read=_known_countries),
        form.integer("daily_credits", least=0, most=DAILY_CREDITS_MAX),
    )
    wrong = {error.field for error in form.errors}
    for error in _errors_of_looser_limits(account, asked):
        if error.field not in wrong:
            form.refuse(*error)
    form.finish()
    return asked


def _known_countries(codes: Collection[str]) -> list[str]:
    return [text_reader(partial(known_country, "countries"))(code) for code in codes]


def _errors_of_looser_limits(account: Account, asked: OwnerSettings) -> Iterator[FieldError]:
    """Yields an error for each limit that would let the account do more than the operator's."""
    allowed, most = account.countries, account.daily_credits
    if allowed is not None and (asked.countries is None or set(asked.countries) - set(allowed)):
        yield FieldError(
            "countries", f"must be some of {', '.join(allowed)}: the operator can allow more"
        )
    if most is not None and (asked.daily_credits is None or asked.daily_credits > most):
        yield FieldError("daily_credits", f"must be at most {most}: the operator can allow more")
