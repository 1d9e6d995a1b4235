"""Changes the thresholds of a wallet, below which the event `wallet.low_balance` is sent."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import wallet
from heliograph.base.errors import FieldError
from heliograph.base.forms import REQUIRED
from heliograph.base.short_texts import invalid_field
from heliograph.portal.filled_form import kept_as_stored, with_numbers, with_shown
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import Visit
from heliograph.users import Right
from heliograph.wallet import Wallet, money
from heliograph.wallet import request as wallet_request

FIELDS: Final = ("low_balance_credits", "low_balance_amount")
NEVER: Final = "never"  # how the audit log says that there is no threshold


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form with both thresholds. It takes a fresh sign-in, as all that is about money."""
    visit.require(tx, Right.MONEY)
    visit.require_fresh(request.now_ms)
    held = wallet.wallet_of(tx, visit.account.id)
    return page(
        "low_balance.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        wallet=held,
        typed=request.sent.form or with_shown(_stored_thresholds(held)),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Sets both thresholds, and shows the wallet. One that was left as the form has shown it stays
    as it is now: somebody else may have changed it meanwhile. Raises InvalidRequest, and NotFresh.
    """
    visit.require_fresh(request.now_ms)
    for name in FIELDS:
        if name not in request.sent.form:  # blank means never, and not there means nothing
            raise invalid_field(name, REQUIRED)
    held = wallet.lock_wallet(tx, visit.account.id)
    before = _stored_thresholds(held)
    filled = kept_as_stored(request.sent.form, before)
    given = {name: typed for name in FIELDS if (typed := filled[name].strip())}
    thresholds = wallet_request.read_thresholds(with_numbers(given, *FIELDS), held.currency)
    after = _stored_thresholds(wallet.set_low_balance(tx, visit.account.id, thresholds))
    changes = [
        f"{name}: {before[name] or NEVER} → {after[name] or NEVER}"
        for name in FIELDS
        if before[name] != after[name]
    ]
    if changes:
        visit.audit(tx, request, "low_balance.change", detail="; ".join(changes))
    return redirect(f"{visit.home}/money", DoneNotice.SAVED)


def _stored_thresholds(held: Wallet) -> dict[str, str]:
    """Returns the thresholds as they would be typed."""
    credits, amount_minor = held.low_balance_credits, held.low_balance_amount_minor
    return {
        "low_balance_credits": "" if credits is None else str(credits),
        "low_balance_amount": ""
        if amount_minor is None
        else money.to_text(amount_minor, held.currency).split()[0],
    }
