"""Shows and changes the settings of an account: its name, country and time zone, and what it may
send to and spend.

The last two protect the account from stolen keys, and so changing anything takes a fresh sign-in.
They are the operator's limits, too: an owner tightens them, and only the operator loosens them.
"""

from collections.abc import Sequence
from typing import Any, Final
from zoneinfo import available_timezones

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import FieldError
from heliograph.base.short_texts import shorten
from heliograph.portal.filled_form import kept_as_stored, with_numbers, with_shown
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import Visit
from heliograph.users import Right

TOLD_MAX: Final = 110  # characters of a value in the audit log, which holds two of them
FIELDS: Final = ("name", "country_code", "time_zone", "countries", "daily_credits")


def show_settings(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the settings to all members, and a form to owners."""
    account = accounts.by_id(tx, visit.account.id)
    return page(
        "settings.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        account=account,
        id=accounts.text_id(account),
        typed=request.sent.form or with_shown(_filled_with(account)),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        may_change=visit.may(Right.SETTINGS),
        time_zones=sorted(available_timezones()),
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Stores the settings that were changed in the form, and shows them. What was left as the form
    has shown it stays as it is now: somebody else may have changed it meanwhile.
    """
    visit.require_fresh(request.now_ms)
    before = accounts.lock(tx, visit.account.id)
    asked = accounts.read_owner_settings(_body(request, before), before)
    accounts.rename(tx, before.id, asked.name)
    after = accounts.change(
        tx,
        before.id,
        country_code=asked.country_code,
        time_zone=asked.time_zone,
        countries=asked.countries,
        daily_credits=asked.daily_credits,
    )
    for detail in _changes_in_words(before, after):  # each by itself, so that none hides another
        visit.audit(tx, request, "settings.change", detail=detail)
    return redirect(f"{visit.home}/settings", DoneNotice.SAVED)


def _body(request: PageRequest, account: Account) -> dict[str, Any]:
    """Returns what was filled in, with the countries one by one, whatever stands between them."""
    filled = kept_as_stored(request.sent.form, _filled_with(account))
    given = {name: typed for name in FIELDS if (typed := filled.get(name, "").strip())}
    body = with_numbers(given, "daily_credits")
    if "countries" in body:
        body["countries"] = body["countries"].upper().replace(",", " ").split() or None
    return body


def _filled_with(account: Account) -> dict[str, str]:
    return {
        "name": account.name,
        "country_code": account.country_code,
        "time_zone": account.time_zone,
        "countries": ", ".join(account.countries or ()),
        "daily_credits": "" if account.daily_credits is None else str(account.daily_credits),
    }


def _changes_in_words(before: Account, after: Account) -> list[str]:
    """Returns what was changed, such as `time_zone: UTC → Africa/Accra`."""
    old: dict[str, Any] = before._asdict()
    new: dict[str, Any] = after._asdict()
    return [
        f"{name}: {_or_none(old[name])} → {_or_none(new[name])}"
        for name in FIELDS
        if old[name] != new[name]
    ]


def _or_none(value: object) -> str:
    if value is None:
        return "none"
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    return shorten(text, TOLD_MAX)
