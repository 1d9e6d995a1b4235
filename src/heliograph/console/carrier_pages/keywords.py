"""Lists the keywords of an account, saves one, and removes one, as the commands do."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, NotFound
from heliograph.console.asked_mode import SANDBOX, mode_asked
from heliograph.console.carrier_pages.keyword_words import ACTIONS, in_words, listed_keywords
from heliograph.console.named_account import account_required, read_account_list
from heliograph.console.navigation import KEYWORDS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.inbound.keywords import (
    Keyword,
    KeywordLanguage,
    KeywordOwner,
    keyword_text_id,
    keyword_with_id,
    keywords_page,
    remove_any_keyword,
    save_keyword_for,
)
from heliograph.portal.filled_form import body_of
from heliograph.portal.list_page import list_page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorEntry

KEYWORDS_LISTED_MAX: Final = 100
# what the command takes too, as POST /keywords has it
_OF_KEYWORD: Final = ("keyword", "number", "action", "reply", "language")


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the keywords of the account that is named, newest first, and the form that saves one.
    Without an account it asks for one.
    """
    fields = request.sent.all_fields
    account, wanted, wrong = read_account_list(tx, request, errors, most=KEYWORDS_LISTED_MAX)
    found: list[Keyword] = []
    if account is not None:
        found = keywords_page(tx, _owner(account, fields), wanted)
    listed = list_page(request, wanted, found, lambda each: each.id)
    return page(
        "keywords.html",
        request,
        visit,
        status=400 if wrong else 200,
        account=account,
        text_id=account and accounts.text_id(account),
        mode=mode_asked(fields),
        keywords=listed_keywords(tx, listed.rows),
        older=listed.older,
        actions=ACTIONS,
        languages=tuple(KeywordLanguage),
        typed=fields,
        errors={error.field: error.message for error in wrong},
    )


def save(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Adds a keyword, or changes what it does. One that is as it is asked for was saved already.
    Raises AccountClosed, InvalidRequest, NotFound.
    """
    body = body_of(request)
    reason = reason_of(request)
    account = account_required(tx, body)
    owner = _owner(account, body)
    asked: dict[str, Any] = {name: body[name] for name in _OF_KEYWORD if name in body}
    if "reply" in asked:  # a browser ends lines by two characters
        asked["reply"] = asked["reply"].replace("\r\n", "\n")
    saved = save_keyword_for(tx, owner, asked, body.get("carrier"), request.now_ms)
    path = _list_path(account, owner)
    if not saved.changed:
        return redirect(path, DoneNotice.DONE_ALREADY)
    _log(tx, visit, "keyword.save", saved.before, saved.keyword, reason)
    return redirect(path, DoneNotice.SAVED)


def ask_removal(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a keyword, and the form that removes it. Raises NotFound."""
    keyword = keyword_with_id(tx, request.path["keyword"])
    [listed] = listed_keywords(tx, [keyword])
    return page(
        "keyword.html",
        request,
        visit,
        status=400 if errors else 200,
        each=listed,
        list_path=_list_path(accounts.by_id(tx, keyword.account_id), _owner_of(keyword)),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def remove(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Removes a keyword. One that is gone was removed already. Raises InvalidRequest."""
    reason = reason_of(request)
    text_id = request.path["keyword"]
    try:
        found = keyword_with_id(tx, text_id)
        account = accounts.lock(tx, found.account_id)  # nobody else removes it meanwhile
        removed = remove_any_keyword(tx, text_id, request.now_ms)
    except NotFound:
        return redirect(KEYWORDS, DoneNotice.REMOVED_ALREADY)
    _log(tx, visit, "keyword.remove", removed, None, reason)
    return redirect(_list_path(account, _owner_of(removed)), DoneNotice.REMOVED)


def _log(
    tx: Connection,
    visit: OperatorVisit,
    action: str,
    before: Keyword | None,
    after: Keyword | None,
    reason: str,
) -> None:
    """Writes into the operators' log alone: the use case has told the account."""
    keyword = after or before
    assert keyword is not None
    visit.log(
        tx,
        OperatorEntry(
            action,
            keyword.account_id,
            record=keyword_text_id(keyword),
            before=before and in_words(before),
            after=after and in_words(after),
            reason=reason,
        ),
    )


def _owner(account: Account, fields: Mapping[str, str]) -> KeywordOwner:
    return KeywordOwner(account.id, mode_asked(fields) == SANDBOX)


def _owner_of(keyword: Keyword) -> KeywordOwner:
    return KeywordOwner(keyword.account_id, keyword.sandbox)


def _list_path(account: Account, owner: KeywordOwner) -> str:
    named = {"account": accounts.text_id(account)}
    return f"{KEYWORDS}?{urlencode(named | ({'mode': SANDBOX} if owner.sandbox else {}))}"
