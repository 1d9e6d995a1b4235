"""Shows the API keys of an account, and revokes one, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, keys
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.keys import ALL_PERMISSIONS, ApiKey
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

CHANGES: Final = ("revoke",)
VALID, EXPIRED, REVOKED = "valid", "expired", "revoked"


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows an account's keys, newest first, expired and revoked ones too. Raises NotFound,
    InvalidRequest.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    asked = with_one_more_row(wanted)
    found = keys.page(tx, limit=asked.limit, account_id=account.id, before_id=asked.before)
    displayed = list_page(request, wanted, found, lambda key: key.id)
    return page(
        "account_keys.html",
        request,
        visit,
        account=account,
        text_id=accounts.text_id(account),
        keys=[(keys.text_id(key), key, _state(key, request.now_ms)) for key in displayed.rows],
        older=displayed.older,
        permissions_total=len(ALL_PERMISSIONS),
    )


def show_key(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows one key, and the form that revokes it. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    key = _of_account(tx, request, account)
    return page(
        "account_key.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        key=key,
        key_id=keys.text_id(key),
        state=_state(key, request.now_ms),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Revokes a key. Raises NotFound, InvalidRequest."""
    choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    account = accounts.lock(tx, found.id)
    config.bump(tx)  # nobody else revokes it between the two, with a command either
    key = _of_account(tx, request, account)
    path = f"{ACCOUNTS}/{accounts.text_id(account)}/keys"
    if key.revoked_at_ms is not None:
        return redirect(path, DoneNotice.DONE_ALREADY)
    keys.revoke(tx, key.id, now_ms=request.now_ms)
    visit.audit(
        tx,
        account.id,
        "key.revoke",
        keys.text_id(key),
        before=f"{key.name}: {_state(key, request.now_ms)}",
        after=f"{key.name}: {REVOKED}",
        reason=reason,
    )
    return redirect(path, DoneNotice.REVOKED)


def _of_account(tx: Connection, request: PageRequest, account: Account) -> ApiKey:
    """Returns the key that the path names. Raises NotFound for one of another account, too."""
    key = keys.find(tx, request.path["key"])
    if key.account_id != account.id:
        raise NotFound(f"There is no key with the id {quote_value(request.path['key'])}.")
    return key


def _state(key: ApiKey, now_ms: int) -> str:
    if key.revoked_at_ms is not None:
        return REVOKED
    is_over = key.expires_at_ms is not None and key.expires_at_ms <= now_ms
    return EXPIRED if is_over else VALID
