"""Erases a phone from all that an account has stored, as the command does. It takes many
transactions, so it has a lane of its own, and goes on when its operator leaves the page.

Nothing that is stored names the phone afterwards: not the logs, and not where the form led.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account, audit_log
from heliograph.base.errors import (
    Conflict,
    DoneAlready,
    FieldError,
    InvalidRequest,
    NotFound,
    ServiceError,
)
from heliograph.base.short_texts import invalid_field
from heliograph.console.named_account import account_required
from heliograph.console.navigation import LOG
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.phone_pages.asked_phone import (
    read_asked,
    reason_without,
    request_of,
)
from heliograph.console.rendering import DONE_ALREADY, OF_NO_FIELD, page
from heliograph.jobs import erasure
from heliograph.jobs.erase_number import count_changes, note
from heliograph.portal.filled_form import body_of
from heliograph.portal.form_idempotency import redirect_user_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.text import Phone
from heliograph.text.phones_in_text import Quoted

AGAIN: Final = "again"  # the field in which the phone is typed a second time


class WantedErasure(NamedTuple):
    """Holds a form that is right."""

    account: Account
    quoted: Quoted
    reason: str


def ask_erasure(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Says what goes and what stays, and asks for the phone a second time. Without a phone and an
    account, it asks for them first.
    """
    fields = request.sent.all_fields
    asked = read_asked(tx, fields)
    wrong = [*errors, *(each for each in asked.errors if each not in errors)]
    return page(
        "erasure.html",
        request,
        visit,
        status=400 if wrong else 200,
        account=asked.account,
        text_id=asked.account and accounts.text_id(asked.account),
        digits=asked.phone and asked.phone.digits,
        typed=fields,
        errors={error.field: error.message for error in wrong},
    )


def erase(request: PageRequest, visit: OperatorVisit) -> Response:
    """Erases the phone, and leads to the log, which counts the rows. A form that was sent before
    leads there, too. What the command refuses is refused in the same words.
    """
    db = request.db
    try:
        with db.read() as tx:
            wanted = _read(tx, request)
        account_id = wanted.account.id
        found = erasure.look(db, account_id, wanted.quoted)
        counts = count_changes(found)

        def finish(tx: Connection) -> None:
            redirect_user_once(lambda tx, *_: _record(tx, visit, wanted, counts))(
                tx, request, visit
            )

        erasure.erase(db, account_id, wanted.quoted, found, finish)
        # the form is known by now, if it has erased anything
        return db.transact(lambda tx: redirect_user_once(_find_nothing)(tx, request, visit))
    except (InvalidRequest, NotFound, Conflict) as refused:
        return _show_refused(request, refused)


def _read(tx: Connection, request: PageRequest) -> WantedErasure:
    """Returns what is to be erased. Raises InvalidRequest."""
    body = body_of(request)
    account = account_required(tx, body)
    phone = request_of(body, account).phone
    if phone != _typed_again(body, account):
        raise invalid_field(AGAIN, f"is another phone than {phone.digits}")
    quoted = Quoted(phone)
    return WantedErasure(account, quoted, reason_without(request, quoted))


def _typed_again(body: Mapping[str, str], account: Account) -> Phone:
    """Returns the phone that was typed a second time. Raises InvalidRequest."""
    again = {**body, "phone": body.get(AGAIN, "")}
    try:
        return request_of(again, account).phone
    except InvalidRequest as refused:
        raise InvalidRequest(
            refused.message, fields=[each._replace(field=AGAIN) for each in refused.fields]
        ) from refused


def _record(
    tx: Connection, visit: OperatorVisit, wanted: WantedErasure, counts: dict[str, int]
) -> Response:
    """Notes for the account and for operators that it was done, and not which phone it was."""
    account = wanted.account
    note(tx, account.id, audit_log.OPERATOR_NAME, counts, visit.now_ms)
    visit.audit(
        tx,
        account.id,
        "phone.erase",
        accounts.text_id(account),
        after=", ".join(f"{table} {count}" for table, count in counts.items()),
        reason=wanted.reason,
    )
    return redirect(
        f"{LOG}?{urlencode({'account': accounts.text_id(account)})}", DoneNotice.REMOVED
    )


def _find_nothing(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Raises DoneAlready, unless this form was sent before."""
    raise DoneAlready("Nothing was found of this number in the account.")


def _show_refused(request: PageRequest, refused: ServiceError) -> Response:
    said_above = DONE_ALREADY if isinstance(refused, DoneAlready) else OF_NO_FIELD
    wrong = list(refused.fields) or [FieldError(said_above, refused.message)]
    with request.db.read() as tx:
        response = ask_erasure(tx, request, operator_visit_of(tx, request), wrong)
    response.status_code = refused.status
    return response
