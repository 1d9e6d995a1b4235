"""Serves the endpoints GET and POST /contacts, and PUT and DELETE /contacts/{id}."""

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy.engine import Connection

from heliograph.accounts import audit_log, quotas
from heliograph.base import clock
from heliograph.base.paging import page_body, read_page
from heliograph.contacts.change import ContactPatch, ContactRequest, read_contact_request
from heliograph.contacts.contact import ContactOwner, as_record, text_id
from heliograph.contacts.opt_out_history import Changer, ChangerKind
from heliograph.contacts.search import NEEDLE_MAX, newest
from heliograph.contacts.store import UpsertResult, delete, update, upsert
from heliograph.database.database import Database
from heliograph.keys import acting_for, country_of, customer_asked_for, name_of
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run

UPSERT_PATH: Final = "POST /contacts"

T = TypeVar("T")


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints of contacts."""
    handlers = _ContactHandlers(db)
    return [
        Endpoint("GET", "/contacts", "contacts.read", handle_in_thread=handlers.list_contacts),
        Endpoint("POST", "/contacts", "contacts.write", handle_in_thread=handlers.upsert_contact),
        Endpoint(
            "PUT", "/contacts/{id}", "contacts.write", handle_in_thread=handlers.update_contact
        ),
        Endpoint(
            "DELETE", "/contacts/{id}", "contacts.write", handle_in_thread=handlers.delete_contact
        ),
    ]


class _ContactHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list_contacts(self, call: Call) -> ApiResponse:
        """Answers GET /contacts."""
        customer_id = customer_asked_for(call.principal, call.query)
        needle = call.query.text("q", most=NEEDLE_MAX)
        wanted = read_page(call.query)
        call.query.finish()
        with self._db.read() as tx:
            owner = _owner(tx, call, customer_id)
            found = newest(tx, owner, needle, limit=wanted.limit + 1, before=wanted.before)
        return ApiResponse(
            page_body(
                found,
                wanted,
                lambda contact: contact.id,
                lambda contact: as_record(contact, sandbox=owner.sandbox),
            )
        )

    def upsert_contact(self, call: Call) -> ApiResponse:
        """Answers POST /contacts."""
        call.query.finish()
        request = _read_contact_request(self._db, call, phone_required=True)

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, request.customer_id, changes=True)
            by = _changer(tx, call)
            (stored,), warnings = _opting_out(
                tx,
                request.change,
                lambda change: upsert(tx, owner, [change], by=by, now_ms=clock.now_ms()),
            )
            assert stored.contact is not None, (
                "custom fields of a body are replaced whole, so they are never too many"
            )
            if stored.contact.updated_at_ms != stored.before_ms:
                _audit(tx, call, owner, "save", text_id(stored.contact))
            body = {
                "data": as_record(stored.contact, sandbox=owner.sandbox),
                "created": stored.result is UpsertResult.CREATED,
            }
            return ApiResponse.warning(body, [*request.warnings, *warnings])

        return self._db.transact(
            lambda tx: replay_or_run(
                tx, call, UPSERT_PATH, effect, is_opt_out=request.change.opts_out
            )
        )

    def update_contact(self, call: Call) -> ApiResponse:
        """Answers PUT /contacts/{id}."""
        call.query.finish()
        request = _read_contact_request(self._db, call, phone_required=False)

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, request.customer_id, changes=True)
            by = _changer(tx, call)
            contact, warnings = _opting_out(
                tx,
                request.change,
                lambda change: update(
                    tx, owner, call.path["id"], change, by=by, now_ms=clock.now_ms()
                ),
            )
            _audit(tx, call, owner, "change", text_id(contact))
            return ApiResponse.warning(
                {"data": as_record(contact, sandbox=owner.sandbox)}, [*request.warnings, *warnings]
            )

        return self._db.transact(effect)

    def delete_contact(self, call: Call) -> ApiResponse:
        """Answers DELETE /contacts/{id}."""
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.finish()

        def effect(tx: Connection) -> ApiResponse:
            owner = _owner(tx, call, customer_id, changes=True)
            delete(tx, owner, call.path["id"])
            _audit(tx, call, owner, "remove", call.path["id"])
            return ApiResponse({"data": {"id": call.path["id"], "deleted": True}})

        return self._db.transact(effect)


def _audit(tx: Connection, call: Call, owner: ContactOwner, done: str, contact_id: str) -> None:
    entry = audit_log.AuditEntry(f"contact.{done}", contact_id)
    audit_call(tx, call, owner.account_id, entry, is_counted=True)


def _changer(tx: Connection, call: Call) -> Changer:
    return Changer(ChangerKind.KEY, name_of(tx, call.principal.key_id))


def _opting_out(
    tx: Connection, change: ContactPatch, apply: Callable[[ContactPatch], T]
) -> tuple[T, list[str]]:
    """Applies a change, and returns what became of it and what is to be warned of. If a change
    opts out and is too much to be stored today, only the opting out is done.
    """
    if not change.opts_out:
        return apply(change), []
    try:
        with tx.begin_nested():  # so that what was counted and is refused is not counted
            return apply(change), []
    except quotas.StorageQuotaReached as error:
        return apply(change.opting_out), [f"Only opted_out was stored: {error}"]


def _read_contact_request(db: Database, call: Call, *, phone_required: bool) -> ContactRequest:
    """Returns the body's change, its phone read in the country of the account that it is about."""
    body, home_country = call.json(), call.principal.country_code
    customer_id = body.get("customer_id")
    if isinstance(customer_id, str):
        with db.read() as tx:
            home_country = country_of(tx, call.principal, customer_id)
    return read_contact_request(body, phone_required=phone_required, home_country=home_country)


def _owner(
    tx: Connection, call: Call, customer_id: str | None, *, changes: bool = False
) -> ContactOwner:
    return ContactOwner(
        acting_for(tx, call.principal, customer_id, changes=changes), call.principal.sandbox
    )
