"""Gives an account another name, as the command does."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import unique_name
from heliograph.base.errors import FieldError
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect


def show_form(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the form that renames an account, to those who may use it. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    return page(
        "account_name.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        path=f"{ACCOUNTS}/{accounts.text_id(account)}",
        shown=account.name,
        typed=request.sent.form or {"name": account.name},
        errors={error.field: error.message for error in errors},
    )


def rename(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives the account another name. Raises NotFound, NameTaken, and InvalidRequest, also when the
    page showed another name than the account has now.
    """
    body, reason = body_of(request), reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    before = accounts.lock(tx, found.id)  # nobody else renames it between the two
    name = body.get("name", "")
    if "same_name" not in body:
        unique_name.require_unique_name(tx, name, besides=before.id)
    after = accounts.rename(tx, before.id, name)
    if after.name != before.name and body.get("shown", "") != before.name:
        raise invalid_field(
            "shown",
            "is not what there is now: somebody renamed the account after you had opened this page."
            f" It is now {quote_value(before.name)}. Look at it, then give yours",
        )
    if after.name != before.name:
        visit.audit(
            tx,
            before.id,
            "account.rename",
            accounts.text_id(before),
            before=before.name,
            after=after.name,
            reason=reason,
        )
    return redirect(f"{ACCOUNTS}/{accounts.text_id(before)}", DoneNotice.SAVED)
