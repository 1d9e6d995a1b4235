"""Serves the endpoints GET and POST /sender-ids, and GET /sender-ids/{id}."""

from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.forms import Form, text_reader
from heliograph.base.paging import page_body, read_page
from heliograph.base.short_texts import one_line
from heliograph.base.unknown_fields import COUNTRY, PAYER
from heliograph.database.database import Database
from heliograph.keys import CUSTOMER_ID_MAX, acting_for, customer_asked_for
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run
from heliograph.senders.register import PURPOSE_MAX, changes, find_registered, register
from heliograph.senders.rules import check
from heliograph.senders.sender import as_record, of_account, page, text_id
from heliograph.text import read_country

REGISTER_PATH: Final = "POST /sender-ids"


class SenderRequest(NamedTuple):
    """Holds a body of POST /sender-ids that is right in form."""

    sender: str
    country_code: str | None
    purpose: str | None
    customer_id: str | None
    set_default: bool
    warnings: list[str]


def endpoints(db: Database, *, service_sender: str) -> list[Endpoint]:
    """Returns the endpoints. `service_sender` is what one-time passwords come from when their
    account has no default sender.
    """
    handlers = _SenderHandlers(db, service_sender)
    return [
        Endpoint("GET", "/sender-ids", "sender_ids.read", handle_in_thread=handlers.list_senders),
        Endpoint(
            "GET", "/sender-ids/{id}", "sender_ids.read", handle_in_thread=handlers.show_sender
        ),
        Endpoint(
            "POST", "/sender-ids", "sender_ids.write", handle_in_thread=handlers.register_sender
        ),
    ]


class _SenderHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database, service_sender: str) -> None:
        self._db = db
        self._service_sender = service_sender

    def list_senders(self, call: Call) -> ApiResponse:
        """Answers GET /sender-ids."""
        customer_id = customer_asked_for(call.principal, call.query, takes_connect=False)
        wanted = read_page(call.query)
        call.query.finish()
        with self._db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id, takes_connect=False)
            found = page(
                tx,
                limit=wanted.limit + 1,
                account_id=account_id,
                sandbox=call.principal.sandbox,
                before_id=wanted.before,
            )
            whose = _customer_id(tx, account_id)
        return ApiResponse(
            page_body(
                found, wanted, lambda sender: sender.id, lambda sender: as_record(sender, whose)
            )
        )

    def show_sender(self, call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query, takes_connect=False)
        call.query.finish()
        with self._db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id, takes_connect=False)
            found = of_account(tx, account_id, call.path["id"], sandbox=call.principal.sandbox)
            whose = _customer_id(tx, account_id)
        return ApiResponse({"data": as_record(found, whose)})

    def register_sender(self, call: Call) -> ApiResponse:
        """Answers POST /sender-ids."""
        call.query.finish()
        request = read_sender_request(call.json())

        def effect(tx: Connection) -> ApiResponse:
            account_id = acting_for(
                tx, call.principal, request.customer_id, changes=True, takes_connect=False
            )
            accounts.lock(tx, account_id)  # nobody registers it between the two
            before = find_registered(tx, account_id, request.sender, sandbox=call.principal.sandbox)
            sender = register(
                tx,
                account_id,
                request.sender,
                sandbox=call.principal.sandbox,
                country_code=request.country_code,
                purpose=request.purpose,
                set_default=request.set_default,
                service_sender=self._service_sender,
                now_ms=clock.now_ms(),
            )
            for action in changes(before, sender):
                entry = audit_log.AuditEntry(action, text_id(sender), sender.sender)
                audit_call(tx, call, account_id, entry)
            body = {"data": as_record(sender, _customer_id(tx, account_id))}
            return ApiResponse({**body, "warnings": request.warnings} if request.warnings else body)

        return self._db.transact(lambda tx: replay_or_run(tx, call, REGISTER_PATH, effect))


def read_sender_request(body: dict[str, Any]) -> SenderRequest:
    """Reads the body of a request that registers a sender ID. Raises InvalidRequest for all bad
    fields together.
    """
    form = Form(body, costly=(COUNTRY, PAYER))
    sender = form.value("sender", "value", read=text_reader(check), required=True)
    country_code = form.value("country_code", "countryCode", read=read_country)
    purpose = form.value(
        "purpose", read=text_reader(lambda text: one_line("purpose", text, most=PURPOSE_MAX))
    )
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    set_default = form.boolean("set_default")
    form.finish()
    assert sender is not None
    return SenderRequest(sender, country_code, purpose, customer_id, set_default, form.warnings())


def _customer_id(tx: Connection, account_id: str) -> str | None:
    """Returns the text id of the account, when it is a Connect customer."""
    account = accounts.by_id(tx, account_id)
    return None if account.parent_id is None else accounts.text_id(account)
