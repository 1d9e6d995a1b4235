"""Reads the phone, the account and the mode that a page or a form about a phone names."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import opt_outs
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.short_texts import invalid_field
from heliograph.console.asked_mode import SANDBOX, mode_asked
from heliograph.console.named_account import account_asked
from heliograph.console.reasons import reason_of
from heliograph.opt_outs import OptOutOwner, OptOutRequest
from heliograph.portal.page_request import PageRequest
from heliograph.portal.visit import MODES
from heliograph.text import Phone
from heliograph.text.phones_in_text import Quoted

_OF_PHONE: Final = ("phone", "country_code", "sender")
DIALLED_AT_HOME: Final = re.compile(r"\D*0[^0]", re.ASCII)  # with 00 it is dialled from abroad


class NamedPhone(NamedTuple):
    """Holds what was asked for, as far as it could be read, and what is wrong with the rest."""

    account: Account | None
    phone: Phone | None
    errors: list[FieldError]


def read_asked(tx: Connection, fields: Mapping[str, str]) -> NamedPhone:
    """Reads the phone as people write it: one with a leading 0 as it is dialled in the country that
    is named, or else in that of the account.
    """
    account, phone = None, None
    errors: list[FieldError] = []
    try:
        account = account_asked(tx, fields)
    except InvalidRequest as refused:
        errors += refused.fields
    if fields.get("phone", "").strip():
        try:
            phone = request_of(fields, account).phone
        except InvalidRequest as refused:
            errors += refused.fields
    return NamedPhone(account, phone, errors)


def request_of(fields: Mapping[str, str], account: Account | None) -> OptOutRequest:
    """Returns phone and sender as POST /opt-outs reads them. Raises InvalidRequest."""
    body = {name: text for name in _OF_PHONE if (text := fields.get(name, "").strip())}
    if "country_code" in body:
        body["country_code"] = body["country_code"].upper()
    elif account is None and DIALLED_AT_HOME.match(body.get("phone", "")):
        raise invalid_field(
            "phone", "begins with 0, so name the country in which it is dialled, or an account"
        )
    return opt_outs.read_opt_out_request(body, account.country_code if account else "")


def reason_without(request: PageRequest, quoted: Quoted) -> str:
    """Returns the reason of a form about this phone. Raises InvalidRequest, also for one that names
    the phone.
    """
    reason = reason_of(request)
    if quoted.stands_in(reason):
        raise invalid_field(
            "reason", "must not have the phone in it, because the log is kept when it is erased"
        )
    return reason


def owner_of(account: Account, fields: Mapping[str, str]) -> OptOutOwner:
    """Returns whose opt-outs are asked for."""
    return OptOutOwner(account.id, mode_asked(fields) == SANDBOX)


def mode_of(owner: OptOutOwner) -> str:
    """Returns the mode as pages and their addresses name it."""
    return MODES[owner.sandbox]
