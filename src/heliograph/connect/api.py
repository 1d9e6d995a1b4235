"""Serves the endpoints GET and POST /connect/customers, GET /connect/customers/{id}, and POST
/connect/customers/{id}/credits.
"""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph.accounts import audit_log, text_of_id
from heliograph.accounts.tables import EXTERNAL_REF_MAX
from heliograph.base import clock
from heliograph.base.paging import page_body, read_page
from heliograph.connect import credits
from heliograph.connect.customer import as_record, by_id, page
from heliograph.connect.provision import provision
from heliograph.connect.request import read_credits_request, read_customer_request
from heliograph.database.database import Database
from heliograph.keys import acting_for
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run

PROVISION_PATH: Final = "POST /connect/customers"


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints for partners."""
    handlers = _ConnectHandlers(db)
    return [
        Endpoint(
            "GET",
            "/connect/customers",
            "connect.customers",
            handle_in_thread=handlers.list_customers,
        ),
        Endpoint(
            "POST",
            "/connect/customers",
            "connect.customers",
            handle_in_thread=handlers.provision_customer,
            partners_only=True,
        ),
        Endpoint(
            "GET",
            "/connect/customers/{id}",
            "connect.customers",
            handle_in_thread=handlers.show_customer,
        ),
        Endpoint(
            "POST",
            "/connect/customers/{id}/credits",
            "connect.customers",
            handle_in_thread=handlers.move_credits,
        ),
    ]


class _ConnectHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list_customers(self, call: Call) -> ApiResponse:
        """Answers GET /connect/customers."""
        external_ref = call.query.text("external_ref", most=EXTERNAL_REF_MAX)
        wanted = read_page(call.query)
        call.query.finish()
        with self._db.read() as tx:
            found = page(
                tx,
                call.principal.account_id,
                wanted,
                sandbox=call.principal.sandbox,
                external_ref=None if external_ref is None else external_ref.strip(),
            )
        return ApiResponse(
            page_body(found, wanted, lambda customer: customer.account_id, as_record)
        )

    def provision_customer(self, call: Call) -> ApiResponse:
        """Answers POST /connect/customers."""
        call.query.finish()
        request, warnings = read_customer_request(call.json())

        def effect(tx: Connection) -> ApiResponse:
            made = provision(
                tx,
                call.principal.account_id,
                request,
                sandbox=call.principal.sandbox,
                now_ms=clock.now_ms(),
            )
            if made.created:
                _audit(tx, call, "customer.provision", made.customer.account_id)
            return ApiResponse.warning(
                {"data": as_record(made.customer), "created": made.created}, warnings
            )

        return self._db.transact(lambda tx: replay_or_run(tx, call, PROVISION_PATH, effect))

    def show_customer(self, call: Call) -> ApiResponse:
        call.query.finish()
        who = call.principal
        with self._db.read() as tx:
            customer_id = acting_for(tx, who, call.path["id"])
            found = by_id(tx, who.account_id, customer_id, sandbox=who.sandbox)
        return ApiResponse({"data": as_record(found)})

    def move_credits(self, call: Call) -> ApiResponse:
        """Answers POST /connect/customers/{id}/credits."""
        call.query.finish()
        move, warnings = read_credits_request(call.json())

        def effect(tx: Connection) -> ApiResponse:
            customer_id = acting_for(tx, call.principal, call.path["id"], changes=True)
            moved = credits.move_credits(
                tx,
                call.principal.account_id,
                customer_id,
                move,
                sandbox=call.principal.sandbox,
                now_ms=clock.now_ms(),
            )
            _audit(tx, call, "customer.credits", customer_id, f"{move.credits:+} credits")
            return ApiResponse.warning(
                {"data": credits.as_record(moved, sandbox=call.principal.sandbox)}, warnings
            )

        def run(tx: Connection) -> ApiResponse:
            """Runs the request once for a key of the customer's id, however the path names the
            customer. Where there is no customer, no key can have been used.
            """
            found = text_of_id(acting_for(tx, call.principal, call.path["id"]), is_customer=True)
            return replay_or_run(tx, call, f"{PROVISION_PATH}/{found}/credits", effect)

        return self._db.transact(run)


def _audit(
    tx: Connection, call: Call, action: str, customer_id: str, detail: str | None = None
) -> None:
    """Stores what a partner has done to a customer (raw id), in the partner's audit log."""
    record = text_of_id(customer_id, is_customer=True)
    audit_call(tx, call, call.principal.account_id, audit_log.AuditEntry(action, record, detail))
