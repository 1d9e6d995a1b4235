"""Adds and removes keywords on behalf of the operator, who may do so on numbers that several
accounts share.
"""

from typing import Any

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import carrier_named
from heliograph.inbound.keywords.keyword import (
    Keyword,
    KeywordOwner,
    SavedKeyword,
    all_keywords,
    keyword_text_id,
    number_of_keyword,
    of_owner,
    owner_of_keyword,
    remove_keyword,
    save_keyword,
)
from heliograph.inbound.keywords.request import read_keyword_request
from heliograph.inbound.numbers import OPERATOR
from heliograph.inbound.tables import keywords


def save_keyword_for(
    tx: Connection, owner: KeywordOwner, body: dict[str, Any], carrier: str | None, now_ms: int
) -> SavedKeyword:
    """Adds a keyword of an account, or changes what it does; `body` is as POST /keywords takes it.
    Raises NotFound, AccountClosed, InvalidRequest.
    """
    request = read_keyword_request(body)
    if carrier is not None and request.number is None:
        raise invalid_field("carrier", "goes with a number: name the number, too")
    accounts.require_open(accounts.lock(tx, owner.account_id))
    number_id = request.number and number_of_keyword(
        tx,
        owner,
        request.number,
        carrier_id=None if carrier is None else carrier_named(tx, carrier).id,
        or_shared=True,
    )
    saved = save_keyword(tx, owner, request, number_id, now_ms)
    if saved.changed:
        _audit(tx, "keyword.save", saved.keyword, now_ms)
    return saved


def remove_any_keyword(tx: Connection, keyword_id: str, now_ms: int) -> Keyword:
    """Removes anybody's keyword, by its text id. Raises NotFound."""
    removed = remove_keyword(tx, owner_of_keyword(tx, keyword_id), keyword_id)
    _audit(tx, "keyword.remove", removed, now_ms)
    return removed


def give_back_keywords(tx: Connection, account_id: str, *, now_ms: int) -> None:
    """Removes all keywords of an account (raw id) that is being closed. Others can have its words
    then, on numbers that it shared.
    """
    for sandbox in (False, True):
        owner = KeywordOwner(account_id, sandbox)
        for keyword in all_keywords(tx, owner):
            _audit(tx, "keyword.remove", keyword, now_ms)
        tx.execute(keywords.delete().where(of_owner(owner)))


def _audit(tx: Connection, action: str, keyword: Keyword, now_ms: int) -> None:
    entry = audit_log.AuditEntry(action, keyword_text_id(keyword), keyword.keyword)
    audit_log.write(tx, keyword.account_id, OPERATOR, entry, now_ms=now_ms)
