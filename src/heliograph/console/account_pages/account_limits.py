"""Shows what an account may do, and when it is warned, and changes that: the highest tier of its
keys, its countries, its cap, its thresholds of a low balance and its time zone.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, keys, wallet
from heliograph.accounts import Account, account_fields
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.base.short_texts import invalid_field, shorten
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of, with_numbers
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorRight
from heliograph.wallet import Wallet, money
from heliograph.wallet import request as wallet_request

NUMBERS: Final = ("daily_credits", "otp_unverified")
THRESHOLDS: Final = ("low_balance_credits", "low_balance_amount")
FIELDS: Final = ("max_tier", "countries", *NUMBERS, "transactional", *THRESHOLDS, "time_zone")
TOLD_MAX: Final = 90  # characters of a value in the log, which holds all of them in one text


def show_limits(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the limits, and the form to those who may use it. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    held = wallet.wallet_of(tx, account.id)
    return page(
        "account_limits.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        tiers=[tier.name for tier in keys.all_tiers(tx)],
        may_change=visit.may(OperatorRight.ACCOUNTS) and account.closed_at_ms is None,
        shown=_exact(account, held),
        currency=held.currency,
        stored=_filled_with(account, held),
        typed=request.sent.form or _filled_with(account, held),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in (*FIELDS, "reason", "shown")],
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets the limits, as `heliograph account set` does. Raises NotFound, AccountClosed, and
    InvalidRequest, also when what the page showed is not what there is now.
    """
    body = body_of(request)
    reason = reason_of(request)
    tiers = tuple(tier.name for tier in keys.all_tiers(tx))
    tier = choice_of("max_tier", body.get("max_tier", ""), tiers)
    query = Query([(name, body[name]) for name in NUMBERS if name in body])
    daily_credits = query.integer(
        "daily_credits", default=0, least=0, most=account_fields.DAILY_CREDITS_MAX
    )
    otp_unverified = query.integer(
        "otp_unverified", default=1, least=1, most=account_fields.OTP_UNVERIFIED_MAX
    )
    query.finish()
    found = accounts.with_text_id(tx, request.path["account"])
    before = accounts.lock(tx, found.id)  # nobody else changes it between the two
    held = wallet.wallet_of(tx, before.id)
    if body.get("shown", "") != _exact(before, held):
        raise invalid_field(
            "shown",
            "are not what there is now: somebody set them after you had opened this page. They are"
            f" now {_limits_in_words(before, held)}. Look at them, then set yours",
        )
    after = accounts.change(
        tx,
        before.id,
        max_tier=tier,
        countries=body.get("countries", "").upper().replace(",", " ").split() or None,
        daily_credits=daily_credits if "daily_credits" in body else None,
        otp_unverified=otp_unverified if "otp_unverified" in body else None,
        transactional="transactional" in body,
        time_zone=body.get("time_zone", ""),
    )
    given: dict[str, str] = {name: body[name] for name in THRESHOLDS if name in body}
    thresholds = wallet_request.read_thresholds(with_numbers(given, *THRESHOLDS), held.currency)
    warned = wallet.set_low_balance(tx, before.id, thresholds)
    if _exact(before, held) != _exact(after, warned):
        visit.audit(
            tx,
            before.id,
            "account.limits",
            accounts.text_id(before),
            before=_limits_in_words(before, held),
            after=_limits_in_words(after, warned),
            reason=reason,
        )
    return redirect(f"{ACCOUNTS}/{accounts.text_id(before)}", DoneNotice.SAVED)


def _filled_with(account: Account, held: Wallet) -> dict[str, str]:
    credits, amount_minor = held.low_balance_credits, held.low_balance_amount_minor
    return {
        "max_tier": account.max_tier,
        "countries": ", ".join(account.countries or ()),
        "daily_credits": "" if account.daily_credits is None else str(account.daily_credits),
        "otp_unverified": "" if account.otp_unverified is None else str(account.otp_unverified),
        "transactional": "yes" if account.transactional else "",
        "low_balance_credits": "" if credits is None else str(credits),
        "low_balance_amount": ""
        if amount_minor is None
        else money.to_text(amount_minor, held.currency).split()[0],
        "time_zone": account.time_zone,
    }


def _exact(account: Account, held: Wallet) -> str:
    """Returns the limits as the form says that it has shown them, with nothing cut."""
    return ";".join(_filled_with(account, held).values())


def _limits_in_words(account: Account, held: Wallet) -> str:
    """Returns the limits as the log holds them, such as `max_tier: standard, countries: all`."""
    filled = _filled_with(account, held)
    values: dict[str, Any] = {
        **account._asdict(),
        **{name: filled[name] or None for name in THRESHOLDS},
    }
    return ", ".join(f"{name}: {_or_none(values[name])}" for name in FIELDS)


def _or_none(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shorten(" ".join(value) if isinstance(value, tuple) else str(value), TOLD_MAX)
