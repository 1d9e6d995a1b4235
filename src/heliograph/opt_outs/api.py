"""Serves the endpoints GET and POST /opt-outs, and DELETE /opt-outs/{id}, whose id is a phone."""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.errors import NotFound
from heliograph.base.paging import page_body, read_page
from heliograph.database.database import Database
from heliograph.keys import acting_for, country_of, customer_asked_for
from heliograph.opt_outs.read import opt_out_page, opt_outs_of
from heliograph.opt_outs.request import read_opt_out_request
from heliograph.opt_outs.suppress import lift, suppress
from heliograph.opt_outs.suppression import (
    OptOutOwner,
    Withdraw,
    as_suppression_record,
    scope_of_sender,
)
from heliograph.opt_outs.tables import SUPPRESSED_SENDER_MAX, OptOutSource
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run
from heliograph.text import parse_phone

POST_PATH: Final = "POST /opt-outs"


def endpoints(db: Database, withdraw: Withdraw) -> list[Endpoint]:
    """Returns the endpoints of opt-outs. `withdraw` withdraws the messages that wait for a phone
    that opts out.
    """
    handlers = _OptOutHandlers(db, withdraw)
    return [
        Endpoint("GET", "/opt-outs", "sms.read", handle_in_thread=handlers.list_opt_outs),
        Endpoint("POST", "/opt-outs", "sms.send", handle_in_thread=handlers.opt_out),
        Endpoint("DELETE", "/opt-outs/{id}", "sms.send", handle_in_thread=handlers.opt_in),
    ]


class _OptOutHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database, withdraw: Withdraw) -> None:
        self._db = db
        self._withdraw = withdraw

    def list_opt_outs(self, call: Call) -> ApiResponse:
        """Answers GET /opt-outs."""
        customer_id = customer_asked_for(call.principal, call.query)
        wanted = read_page(call.query)
        call.query.finish()
        with self._db.read() as tx:
            owner = _owner(tx, call, customer_id)
            found = opt_out_page(tx, owner, wanted)
        sandbox = owner.sandbox
        return ApiResponse(
            page_body(
                found,
                wanted,
                lambda each: each.id,
                lambda each: as_suppression_record(each, sandbox=sandbox),
            )
        )

    def opt_out(self, call: Call) -> ApiResponse:
        """Answers POST /opt-outs."""
        call.query.finish()
        body, home_country = call.json(), call.principal.country_code
        customer_id = body.get("customer_id")
        if isinstance(customer_id, str):
            with self._db.read() as tx:
                home_country = country_of(tx, call.principal, customer_id)
        request = read_opt_out_request(body, home_country)

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, request.customer_id, changes=True)
            digits, now_ms = request.phone.digits, clock.now_ms()
            new = suppress(
                tx, owner, [digits], source=OptOutSource.API, now_ms=now_ms, scope=request.scope
            )
            self._withdraw(tx, owner, digits, request.scope, now_ms)
            [stored] = [
                each for each in opt_outs_of(tx, owner, digits) if each.scope == request.scope
            ]
            audit_call(
                tx, call, owner.account_id, audit_log.AuditEntry("opt_out.add"), is_counted=True
            )
            record = as_suppression_record(stored, sandbox=owner.sandbox)
            return ApiResponse.warning({"data": record, "created": bool(new)}, request.warnings)

        return self._db.transact(
            lambda tx: replay_or_run(tx, call, POST_PATH, effect, is_opt_out=True)
        )

    def opt_in(self, call: Call) -> ApiResponse:
        """Answers DELETE /opt-outs/{id}."""
        customer_id = customer_asked_for(call.principal, call.query)
        sender = call.query.text("sender", most=SUPPRESSED_SENDER_MAX)
        call.query.finish()
        phone = parse_phone(call.path["id"], None, call.principal.country_code)
        scope = scope_of_sender(sender) if sender else None

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, customer_id, changes=True)
            if phone is None or not lift(
                tx,
                owner,
                [phone.digits],
                by=OptOutSource.API,
                now_ms=clock.now_ms(),
                scope=scope,
            ):
                raise NotFound("There is no such opt-out.")
            audit_call(
                tx, call, owner.account_id, audit_log.AuditEntry("opt_out.remove"), is_counted=True
            )
            return ApiResponse({"data": {"phone": phone.digits, "deleted": True}})

        return self._db.transact(effect)


def _owner(
    tx: Connection, call: Call, customer_id: str | None, *, changes: bool = False
) -> OptOutOwner:
    account_id = acting_for(tx, call.principal, customer_id, changes=changes)
    return OptOutOwner(account_id, call.principal.sandbox)
