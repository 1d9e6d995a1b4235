"""Serves the endpoints GET /inbound, GET /inbound/{id} and GET /numbers."""

from heliograph.base.paging import page_body, read_page
from heliograph.database.database import Database
from heliograph.inbound.numbers import as_number_record, numbers_page
from heliograph.inbound.read import as_inbound_record, inbound_page, inbound_text
from heliograph.keys import acting_for, customer_asked_for
from heliograph.requests import ApiResponse, Call, Endpoint


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints of inbound texts and of the numbers that receive them."""
    handlers = _InboundHandlers(db)
    return [
        Endpoint("GET", "/inbound", "sms.read", handle_in_thread=handlers.list_inbound),
        Endpoint("GET", "/inbound/{id}", "sms.read", handle_in_thread=handlers.show_inbound),
        Endpoint("GET", "/numbers", "sms.read", handle_in_thread=handlers.list_numbers),
    ]


class _InboundHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list_inbound(self, call: Call) -> ApiResponse:
        who, wanted = call.principal, read_page(call.query)
        customer_id = customer_asked_for(who, call.query)
        call.query.finish()
        with self._db.read() as tx:
            account_id = acting_for(tx, who, customer_id)
            found = inbound_page(tx, account_id, wanted, sandbox=who.sandbox)
        return ApiResponse(page_body(found, wanted, lambda each: each.id, as_inbound_record))

    def show_inbound(self, call: Call) -> ApiResponse:
        who = call.principal
        customer_id = customer_asked_for(who, call.query)
        call.query.finish()
        with self._db.read() as tx:
            account_id = acting_for(tx, who, customer_id)
            found = inbound_text(tx, account_id, call.path["id"], sandbox=who.sandbox)
        return ApiResponse({"data": as_inbound_record(found)})

    def list_numbers(self, call: Call) -> ApiResponse:
        who, wanted = call.principal, read_page(call.query)
        customer_id = customer_asked_for(who, call.query)
        call.query.finish()
        with self._db.read() as tx:
            account_id = acting_for(tx, who, customer_id)
            found = numbers_page(tx, account_id, wanted, sandbox=who.sandbox)
        return ApiResponse(page_body(found, wanted, lambda each: each.id, as_number_record))
