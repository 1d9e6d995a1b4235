"""Takes a rate sheet, shows what it changes and where it sells below cost, and gives it a time."""

import re
from collections.abc import Sequence, Set
from datetime import UTC, datetime
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, carriers, pricing
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import line_of, neutralize
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import GENERAL, current_rates
from heliograph.console.handlers import in_own_transactions
from heliograph.console.navigation import SHEETS
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import redirect_user_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, Download, redirect
from heliograph.pricing import BadRow, RateChange, sheets
from heliograph.users import OperatorRight

CHANGES_SHOWN_MAX: Final = 200  # those that do something come first
LOSSES_SHOWN_MAX: Final = 50
BAD_ROWS_SHOWN_MAX: Final = 100
BUTTONS: Final = ("plan", "withdraw")
CSV_COLUMNS: Final = ("destination", "account", "credits_today", "credits_then", "change")
_AT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", re.ASCII)


class ShownChange(NamedTuple):
    """Holds one line of the difference. `whose` is an account's text id, or None."""

    kind: str
    destination: str
    whose: str | None
    today: str
    then: str


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    bad: Sequence[BadRow] = (),
) -> Response:
    """Shows the newest sheets, the form that takes one, and which rows of a file are wrong."""
    return page(
        "rate_sheets.html",
        request,
        visit,
        status=400 if errors or bad else 200,
        sheets=sheets.newest_sheets(tx),
        bad=bad[:BAD_ROWS_SHOWN_MAX],
        bad_rows=len(bad),
        rows_max=pricing.SHEET_ROWS_MAX,
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def may_upload(request: PageRequest) -> Response:
    """Says whether a file may be read at all. Raises Forbidden, NotFresh."""
    with request.db.read() as tx:
        visit = operator_visit_of(tx, request)
        _require(visit)
        return show_list(tx, request, visit)


def upload(request: PageRequest) -> Response:
    """Stores a sheet, and leads to the page that shows what it changes."""
    body = body_of(request)
    with request.db.read() as tx:  # a file takes too long for a transaction that writes
        visit = operator_visit_of(tx, request)
        _require(visit)
        try:
            read = pricing.read_sheet(request.sent.file, lambda text: accounts.find(tx, text).id)
        except InvalidRequest as wrong:
            return show_list(tx, request, visit, wrong.fields)
        if read.bad:
            return show_list(tx, request, visit, bad=read.bad)

    def store(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
        sheet = sheets.upload(
            tx,
            body.get("name", ""),
            read.rates,
            visit.session.user,
            is_whole="whole" in body,
            now_ms=request.now_ms,
        )
        return redirect(f"{SHEETS}/{sheet.text_id}")

    return request.db.transact(lambda tx: redirect_user_once(store)(tx, request, visit))


may_upload_at_all = in_own_transactions(may_upload)
upload_it = in_own_transactions(upload)


def show_sheet(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows what a sheet would change now, where it sells below cost, and the forms that give it a
    time or withdraw it. Raises NotFound.
    """
    sheet = sheets.sheet_by_id(tx, request.path["sheet"])
    outlook = sheets.outlook_of(tx, sheets.rates_of(tx, sheet), is_whole=sheet.is_whole)
    changes = outlook.difference.changes
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    losses = outlook.losses
    return page(
        "rate_sheet.html",
        request,
        visit,
        status=400 if errors else 200,
        sheet=sheet,
        counts=outlook.difference.counts,
        changes=_shown(tx, changes[:CHANGES_SHOWN_MAX]),
        changes_left=max(0, len(changes) - CHANGES_SHOWN_MAX),
        losses=pricing.weighed_rows(losses[:LOSSES_SHOWN_MAX], names),
        losses_left=max(0, len(losses) - LOSSES_SHOWN_MAX),
        not_compared=sorted({each.cost.currency for each in outlook.weighed if not each.price}),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns all that a sheet would change now as a file. Raises NotFound."""
    sheet = sheets.sheet_by_id(tx, request.path["sheet"])
    changes = sheets.difference_of(tx, sheets.rates_of(tx, sheet), is_whole=sheet.is_whole).changes
    owners = _text_ids(tx, {each.rate.account_id for each in changes})
    lines = [CSV_COLUMNS]
    lines += [
        (
            each.rate.destination,
            owners.get(each.rate.account_id, ""),
            _cell(each.today),
            _cell(each.then),
            each.kind,
        )
        for each in changes
    ]
    text = "".join(line_of(map(neutralize, line), ",") for line in lines)
    return Download("rate-sheet-difference.csv", iter([text]))


def export_losses(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns all that would sell below cost with a sheet as a file, as its page shows the first.
    Raises NotFound.
    """
    sheet = sheets.sheet_by_id(tx, request.path["sheet"])
    losses = sheets.outlook_of(tx, sheets.rates_of(tx, sheet), is_whole=sheet.is_whole).losses
    names = {carrier.id: carrier.name for carrier in carriers.all_carriers(tx)}
    owners = _text_ids(tx, {each.rate.account_id for each in losses})
    text = pricing.weighed_file(losses, names, owners)
    return Download("rate-sheet-losses.csv", iter([text]))


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives a sheet its time, applies it at once, or withdraws it. Raises NotFound,
    InvalidRequest.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), BUTTONS)
    reason = reason_of(request)
    sheet = sheets.sheet_by_id(tx, request.path["sheet"])
    body = body_of(request)
    if wanted == "plan":
        sheets.plan(
            tx,
            sheet,
            at_ms=_at_ms(body["at"]) if "at" in body else None,
            allows_loss="allow_loss" in body,
            reason=reason,
            by=visit.session.user,
            now_ms=request.now_ms,
        )
        return redirect(f"{SHEETS}/{sheet.text_id}", DoneNotice.SAVED)
    at_ms = sheets.withdraw(tx, sheet, now_ms=request.now_ms).effective_at_ms
    before = at_ms and f"planned for {rfc3339(at_ms)}"
    visit.audit(
        tx, None, "rate.withdraw", sheet.text_id, before=before or "uploaded", reason=reason
    )
    return redirect(SHEETS, DoneNotice.SAVED)


def _require(visit: OperatorVisit) -> None:
    visit.require(OperatorRight.CARRIERS)
    visit.require_fresh()


def _shown(tx: Connection, changes: Sequence[RateChange]) -> list[ShownChange]:
    owners = _text_ids(tx, {each.rate.account_id for each in changes})
    return [
        ShownChange(
            each.kind,
            each.rate.destination,
            owners.get(each.rate.account_id),
            _credits(each.today),
            _credits(each.then),
        )
        for each in changes
    ]


def _text_ids(tx: Connection, owner_ids: Set[str]) -> dict[str, str]:
    """Returns the text ids of those who have own rates, by raw id."""
    owners = accounts.by_ids(tx, owner_ids - {GENERAL})
    return {account_id: accounts.text_id(owner) for account_id, owner in owners.items()}


def _cell(rate: current_rates.Rate | None) -> str:
    """Returns what a sheet has for a rate, and nothing where there is none."""
    if rate is None:
        return ""
    return "none" if rate.credits is None else str(rate.credits)


def _credits(rate: current_rates.Rate | None) -> str:
    if rate is None:
        return "–"
    return "refused" if rate.credits is None else str(rate.credits)


def _at_ms(text: str) -> int:
    """Reads a time of UTC, as a browser's field for it gives one. Raises InvalidRequest."""
    try:
        if _AT.fullmatch(text):
            return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)
    except ValueError:
        pass
    raise invalid_field(
        "at", f"must be a day and time such as 2027-01-31 09:30, not {quote_value(text)}"
    )
