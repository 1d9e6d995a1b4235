"""Shows the general rates, or an account's own ones, changes one of them, and saves them as CSV."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, pricing
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import GENERAL, current_rates
from heliograph.console.navigation import RATES
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, Download, redirect

RATES_SHOWN_MAX: Final = 500  # rates; an operator has some dozens
CHANGES: Final = ("set rate", "remove rate")


class RateOwner(NamedTuple):
    """Says whose rates a page shows. `account` is None for the general ones."""

    account: Account | None

    @property
    def id(self) -> str:
        return GENERAL if self.account is None else self.account.id

    @property
    def query(self) -> str:
        """Returns what stands behind the path of a page about these rates."""
        return "" if self.account is None else f"?account={accounts.text_id(self.account)}"


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the rates that the query asks for, and the form that changes one."""
    wrong = list(errors)
    typed = dict(request.sent.query) | body_of(request)
    try:
        whose = rate_owner_of(tx, typed.get("account", ""))
    except InvalidRequest as found:
        wrong += [each for each in found.fields if each not in wrong]
        whose = RateOwner(None)
    rates = current_rates.load(tx, whose.id)
    return page(
        "rates.html",
        request,
        visit,
        status=400 if wrong else 200,
        rates=rates[:RATES_SHOWN_MAX],
        shown_max=RATES_SHOWN_MAX,
        is_cut=len(rates) > RATES_SHOWN_MAX,
        whose=whose,
        whose_id=whose.account and accounts.text_id(whose.account),
        typed=typed,
        errors={error.field: error.message for error in wrong},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets or removes a rate. Raises NotFound, InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    is_removed = wanted == "remove rate"
    reason = reason_of(request)
    body = body_of(request)
    whose = rate_owner_of(tx, body.get("account", ""))
    typed = body.get("destination", "")
    destination = typed.lower() if typed.lower() == "default" else typed
    credits = None if is_removed else pricing.read_credits(body.get("credits", ""))
    done = pricing.change_rate(
        tx,
        current_rates.Rate(whose.id, destination, credits),
        is_removed=is_removed,
        allows_loss="allow_loss" in body,
        now_ms=request.now_ms,
    )
    if done.then != done.today:
        visit.audit(
            tx,
            whose.account and whose.account.id,
            "rate.remove" if is_removed else "rate.set",
            done.rate.destination,
            before=done.today and _in_words(done.today.credits),
            after=done.then and f"{done.then.destination}: {_in_words(done.then.credits)}",
            reason=reason,
        )
    return redirect(f"{RATES}{whose.query}", DoneNotice.REMOVED if is_removed else DoneNotice.SAVED)


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns rates as a sheet that can be uploaded again. Raises InvalidRequest."""
    query = Query(request.sent.query)
    account = query.text("account")
    query.finish()
    rates = current_rates.load(tx, rate_owner_of(tx, account or "").id)
    text = pricing.write_sheet(rates, lambda raw: accounts.text_id(accounts.by_id(tx, raw)))
    return Download("rates.csv", iter([text]))


def rate_owner_of(tx: Connection, account: str) -> RateOwner:
    """Returns whose rates are meant; an empty word means the general ones. Raises
    InvalidRequest.
    """
    if not account.strip():
        return RateOwner(None)
    try:
        return RateOwner(accounts.find(tx, account.strip()))
    except NotFound as error:
        raise invalid_field("account", f"was not found: {error}") from error


def _in_words(credits: int | None) -> str:
    if credits is None:
        return "refused"
    return f"{credits} credit{'' if credits == 1 else 's'} a segment"
