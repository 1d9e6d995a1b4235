"""Serves the endpoints GET and POST /keywords, and DELETE /keywords/{id}."""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import page_body, read_page
from heliograph.database.database import Database
from heliograph.inbound.keywords.keyword import (
    Keyword,
    KeywordOwner,
    as_keyword_record,
    keyword_text_id,
    keywords_page,
    number_of_keyword,
    remove_keyword,
    save_keyword,
)
from heliograph.inbound.keywords.request import read_keyword_request
from heliograph.keys import acting_for, customer_asked_for
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run

SAVE_PATH: Final = "POST /keywords"


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints of keywords."""
    handlers = _KeywordHandlers(db)
    return [
        Endpoint("GET", "/keywords", "sms.read", handle_in_thread=handlers.list_keywords),
        Endpoint("POST", "/keywords", "sms.send", handle_in_thread=handlers.save),
        Endpoint("DELETE", "/keywords/{id}", "sms.send", handle_in_thread=handlers.remove),
    ]


class _KeywordHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list_keywords(self, call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        wanted = read_page(call.query)
        call.query.finish()
        with self._db.read() as tx:
            found = keywords_page(tx, _owner(tx, call, customer_id), wanted)
        return ApiResponse(page_body(found, wanted, lambda each: each.id, as_keyword_record))

    def save(self, call: Call) -> ApiResponse:
        """Answers POST /keywords."""
        call.query.finish()
        request = read_keyword_request(call.json())

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, request.customer_id, changes=True)
            accounts.lock(tx, owner.account_id)  # nobody saves the same one between the two
            number_id = request.number and number_of_keyword(tx, owner, request.number)
            saved = save_keyword(tx, owner, request, number_id, clock.now_ms())
            if saved.changed:
                _audit(tx, call, "keyword.save", saved.keyword)
            body = {"data": as_keyword_record(saved.keyword), "created": saved.created}
            return ApiResponse.warning(body, request.warnings)

        return self._db.transact(lambda tx: replay_or_run(tx, call, SAVE_PATH, effect))

    def remove(self, call: Call) -> ApiResponse:
        """Answers DELETE /keywords/{id}."""
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.finish()

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, customer_id, changes=True)
            removed = remove_keyword(tx, owner, call.path["id"])
            _audit(tx, call, "keyword.remove", removed)
            return ApiResponse({"data": {"id": call.path["id"], "deleted": True}})

        return self._db.transact(effect)


def _owner(
    tx: Connection, call: Call, customer_id: str | None, *, changes: bool = False
) -> KeywordOwner:
    account_id = acting_for(tx, call.principal, customer_id, changes=changes)
    return KeywordOwner(account_id, call.principal.sandbox)


def _audit(tx: Connection, call: Call, action: str, keyword: Keyword) -> None:
    entry = audit_log.AuditEntry(action, keyword_text_id(keyword), keyword.keyword)
    audit_call(tx, call, keyword.account_id, entry)
