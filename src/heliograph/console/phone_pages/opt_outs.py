"""Lists the opt-outs of an account, adds one, and lifts those of a phone, as the commands do. No
log has the phone: an opt-out is named by its id.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import accounts, opt_outs
from heliograph.accounts import Account
from heliograph.base import ids
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.short_texts import invalid_field
from heliograph.console.named_account import account_required, read_account_list
from heliograph.console.navigation import OPT_OUTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.phone_pages.asked_phone import (
    mode_of,
    owner_of,
    read_asked,
    reason_without,
    request_of,
)
from heliograph.console.phone_pages.phones import named_opt_outs
from heliograph.console.rendering import page
from heliograph.messages.sweeps import withdraw
from heliograph.opt_outs import (
    OPT_OUT_PREFIX,
    OptOutOwner,
    OptOutScope,
    OptOutSource,
    OwnedOptOut,
    Suppression,
)
from heliograph.portal.list_page import list_page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, DoneNotice, redirect
from heliograph.text.phones_in_text import Quoted

OPT_OUTS_LISTED_MAX: Final = 100


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the opt-outs of the account that is named, newest first, and the form that adds one.
    Without an account it asks for one.
    """
    fields = request.sent.all_fields
    account, wanted, wrong = read_account_list(tx, request, errors, most=OPT_OUTS_LISTED_MAX)
    found: list[Suppression] = []
    owner = account and owner_of(account, fields)
    if owner is not None:
        found = opt_outs.opt_out_page(tx, owner, wanted)
    listed = list_page(request, wanted, found, lambda each: each.id)
    return page(
        "opt_outs.html",
        request,
        visit,
        status=400 if wrong else 200,
        account=account,
        text_id=account and accounts.text_id(account),
        mode=owner and mode_of(owner),
        listed=named_opt_outs(tx, [OwnedOptOut(owner, each) for each in listed.rows])
        if owner is not None
        else [],
        older=listed.older,
        typed=fields,
        errors={error.field: error.message for error in wrong},
    )


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Opts a phone out, and cancels what is queued for it. Where an operator did that before, it
    was done already. Raises InvalidRequest.
    """
    fields = request.sent.form
    account = account_required(tx, fields)
    owner, wanted = owner_of(account, fields), request_of(fields, account)
    reason = reason_without(request, Quoted(wanted.phone))
    digits, scope = wanted.phone.digits, wanted.scope
    before = _of_scope(opt_outs.opt_outs_of(tx, owner, digits), scope)
    done = opt_outs.opt_phone_out(tx, owner, digits, scope, withdraw, now_ms=request.now_ms)
    path = _list_path(account, owner)
    if not done.is_new and (before is None or before.source is OptOutSource.OPERATOR):
        return redirect(path, DoneNotice.DONE_ALREADY)
    visit.audit(
        tx,
        account.id,
        "opt_out.add",
        _text_id(done.opt_out),
        before=before and _in_words(owner, [before]),
        after=_in_words(owner, [done.opt_out]),
        reason=reason,
    )
    return redirect(path, DoneNotice.SAVED)


def ask_lift(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows which opt-outs of a phone would be lifted, and the form that does it. If the query
    names none it leads to the list. Raises NotFound.
    """
    fields = request.sent.all_fields
    asked = read_asked(tx, fields)
    if asked.account is None or asked.phone is None:
        return RedirectResponse(OPT_OUTS, SEE_OTHER, HEADERS)
    owner = owner_of(asked.account, fields)
    found = _to_lift(tx, owner, asked.phone.digits, request_of(fields, asked.account).scope)
    if not found:
        raise NotFound("There is no such opt-out any more.")
    return page(
        "opt_out_lift.html",
        request,
        visit,
        status=400 if errors else 200,
        account=asked.account,
        text_id=accounts.text_id(asked.account),
        mode=mode_of(owner),
        digits=asked.phone.digits,
        sender=fields.get("sender", ""),
        list_path=_list_path(asked.account, owner),
        listed=named_opt_outs(tx, [OwnedOptOut(owner, each) for each in found]),
        shown=_exact(found),
        typed=fields,
        errors={error.field: error.message for error in errors},
    )


def lift(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Removes the opt-outs of a phone: that of one sender, or all. Where there is none, they were
    lifted already. Raises InvalidRequest, also when what the page showed is not what there is now.
    """
    fields = request.sent.form
    account = account_required(tx, fields)
    owner, wanted = owner_of(account, fields), request_of(fields, account)
    reason = reason_without(request, Quoted(wanted.phone))
    digits, path = wanted.phone.digits, _list_path(account, owner)
    found = _to_lift(tx, owner, digits, wanted.scope)
    if found and fields.get("shown", "") != _exact(found):
        raise invalid_field(
            "shown",
            "is not what there is now: somebody changed it after you had opened this page. Look at"
            " it, then do yours",
        )
    scope = wanted.scope if wanted.scope.sender else None
    by, now_ms = OptOutSource.OPERATOR, request.now_ms
    if not opt_outs.lift(tx, owner, [digits], by=by, now_ms=now_ms, scope=scope):
        return redirect(path, DoneNotice.REMOVED_ALREADY)
    visit.audit(
        tx,
        account.id,
        "opt_out.remove",
        _text_id(found[0]),
        before=_in_words(owner, found),
        reason=reason,
    )
    return redirect(path, DoneNotice.REMOVED)


def _of_scope(found: Sequence[Suppression], scope: OptOutScope) -> Suppression | None:
    return next((each for each in found if each.scope == scope), None)


def _to_lift(
    tx: Connection, owner: OptOutOwner, digits: str, scope: OptOutScope
) -> list[Suppression]:
    """Returns the opt-outs of a phone: that of one sender, or all if none is named."""
    found = opt_outs.opt_outs_of(tx, owner, digits)
    return [each for each in found if not scope.sender or each.scope == scope]


def _list_path(account: Account, owner: OptOutOwner) -> str:
    """Returns the path of the account's opt-outs. It does not name the phone, because where a form
    led is stored.
    """
    named = {"account": accounts.text_id(account), "mode": mode_of(owner)}
    return f"{OPT_OUTS}?{urlencode(named)}"


def _text_id(opt_out: Suppression) -> str:
    return ids.text_of_raw(OPT_OUT_PREFIX, opt_out.id)


def _exact(found: Sequence[Suppression]) -> str:
    """Returns the opt-outs as the form says that it has shown them."""
    return ";".join(f"{each.id}={each.source}" for each in found)


def _in_words(owner: OptOutOwner, found: Sequence[Suppression]) -> str:
    """Returns opt-outs as the logs hold them, without the phone."""
    each_in_words = [
        f"{'texts from ' + each.scope.sender if each.scope.sender else 'all texts'}"
        f" (source: {each.source})"
        for each in found
    ]
    return f"{mode_of(owner)}, unwanted: {', '.join(each_in_words)}"
