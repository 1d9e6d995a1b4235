"""Defines values whose form is judged before anything is looked up, by the room that stores them.

A room is named here and imported when a value is judged: help must be there at once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from heliograph.base.errors import InvalidRequest


class InvalidValue(Exception):
    """A value was judged, and this is what is wrong with it."""

    def __init__(self, why: "InvalidRequest") -> None:
        super().__init__(str(why))
        self.why = why


class CheckedType(click.ParamType[str]):
    """Reads a text, which goes on as it was typed if `judge(text)` raises no InvalidRequest about
    it.
    """

    name = "text"

    def __init__(self, judge: Callable[[str], object]) -> None:
        self._judge = judge

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from heliograph.base.errors import InvalidRequest

        try:
            self._judge(value)
        except InvalidRequest as why:
            raise InvalidValue(why) from why
        return str(value)


class MaybeEmpty(click.types.StringParamType):
    """Reads a text that says something when it is empty, too. Every other value must not be
    empty.
    """


def _line(field: str, module: str, limit: str) -> CheckedType:
    """Checks that a value is one line, of as many characters at most as `limit` in `module`
    says.
    """

    def judge(text: str) -> None:
        from heliograph.base.short_texts import one_line

        one_line(field, text, most=getattr(import_module(module), limit))

    return CheckedType(judge)


def _by(module: str, function: str, *field: str) -> CheckedType:
    """Returns a type for what `function([field,] text)` of `module` takes."""
    return CheckedType(lambda text: getattr(import_module(module), function)(*field, text))


def kinds_of(text: str) -> list[str]:
    """Returns the kinds of events that are named, whatever they are."""
    return [kind.strip() for kind in text.split(",") if kind.strip()]


def _events(text: str) -> None:
    from heliograph.webhooks import endpoints

    endpoints.read_kinds(kinds_of(text))


def _countries(text: str) -> None:
    from heliograph.accounts import account_fields

    for code in text.split(","):
        account_fields.known_country("countries", code)


def home_country_of_phone(phone: str) -> str | None:
    """Returns a country in which a phone with a leading 0 is valid, or None if there is no such
    country. It serves values that are judged before the account's own country is known.
    """
    from heliograph.text import country_codes, parse_phone

    return next(
        (code for code in country_codes() if parse_phone(phone, None, code) is not None), None
    )


BY: Final = _line("by", "heliograph.base.short_texts", "BY_MAX")
REASON: Final = _line("reason", "heliograph.base.short_texts", "REASON_MAX")
ENTRY_REASON: Final = _line("reason", "heliograph.wallet.ledger", "DESCRIPTION_MAX")
REFERENCE: Final = _line("reference", "heliograph.wallet.ledger", "REFERENCE_MAX")
PURPOSE: Final = _line("purpose", "heliograph.senders.register", "PURPOSE_MAX")
KEY_NAME: Final = _line("name", "heliograph.keys.issue", "NAME_MAX")
ACCOUNT_NAME: Final = _by("heliograph.accounts.account_fields", "read_name", "name")
EMAIL: Final = _by("heliograph.users.user", "read_email")
COUNTRY: Final = _by("heliograph.accounts.account_fields", "known_country", "country_code")
COUNTRIES: Final = CheckedType(_countries)
CURRENCY: Final = _by("heliograph.wallet.money", "currency")
TIME_ZONE: Final = _by("heliograph.accounts.account_fields", "known_time_zone")
PERMISSIONS: Final = _by("heliograph.keys", "parse_permissions")
SENDER: Final = _by("heliograph.senders.rules", "check")
WHEN: Final = _by("heliograph.campaigns.start_time", "read_time")
EVENTS: Final = CheckedType(_events)
