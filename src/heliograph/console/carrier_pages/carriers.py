"""Shows carriers, and adds, drains, pauses, resumes and removes them, as the commands do."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import carriers
from heliograph.base.errors import FieldError
from heliograph.carriers import Carrier, LinkState, routing
from heliograph.console.carrier_pages.bind_words import BindTrial
from heliograph.console.carrier_pages.carrier_form import read_carrier
from heliograph.console.carrier_pages.routes import listed_route
from heliograph.console.navigation import CARRIERS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.inbound import remove_carrier_and_numbers
from heliograph.messages.queue import messages_of_carrier
from heliograph.monitoring import last_waiting
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

CARRIERS_SHOWN_MAX: Final = 200  # carriers on the list; fifty are many
CHANGES: Final = ("drain", "pause", "resume", "remove")
SETTINGS: Final = (
    *("host", "port", "system_id", "tls", "binds", "window", "tps", "bind", "system_type"),
    *("alphabet", "long", "receipts", "id_format", "in_doubt"),
)


class ListedCarrier(NamedTuple):
    """Holds a carrier, how many messages wait for it if that is known, and the prefixes that lead
    to it.
    """

    carrier: Carrier
    waiting: int | None
    prefixes: list[str]


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    *,
    trial: BindTrial | None = None,
) -> Response:
    """Shows all carriers with their state, those that are not bound first, and the form that adds
    one. `trial` is what became of an attempt to bind with what the form holds.
    """
    found = sorted(
        carriers.all_carriers(tx),
        key=lambda carrier: (carrier.state == LinkState.BOUND.value, carrier.name),
    )
    routes, waiting = routing.all_routes(tx), last_waiting(tx)
    return page(
        "carriers.html",
        request,
        visit,
        status=400 if errors or (trial is not None and not trial.is_bound) else 200,
        carriers=[
            _listed_carrier(carrier, waiting.get(carrier.id), routes)
            for carrier in found[:CARRIERS_SHOWN_MAX]
        ],
        is_cut=len(found) > CARRIERS_SHOWN_MAX,
        typed=body_of(request),
        trial=trial,
        errors={error.field: error.message for error in errors},
    )


def show_carrier(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    *,
    trial: BindTrial | None = None,
) -> Response:
    """Shows one carrier with its settings and routes, and what can be done to it. Raises
    NotFound.
    """
    carrier = carriers.carrier_named(tx, request.path["carrier"])
    is_smpp = carrier.type == "smpp"
    names = {each.id: each.name for each in carriers.all_carriers(tx)}
    messages = messages_of_carrier(tx, carrier.id)
    return page(
        "carrier.html",
        request,
        visit,
        status=400 if errors else 200,
        each=_listed_carrier(carrier, messages.waiting, routing.all_routes(tx)),
        messages=messages,
        is_smpp=is_smpp,
        settings=[(name, carriers.setting(carrier, name)) for name in SETTINGS] if is_smpp else [],
        routes=[
            listed_route(route, names)
            for route in routing.all_routes(tx)
            if carrier.id in route.carrier_ids
        ],
        typed=body_of(request),
        trial=trial,
        errors={error.field: error.message for error in errors},
    )


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Adds an SMPP carrier, by the rules of the command. Raises InvalidRequest."""
    reason = reason_of(request)
    given = read_carrier(request)
    carrier = carriers.add_carrier(
        tx,
        given.name,
        given.settings,
        given.password,
        secret_key=request.service.secret_keys,
        now_ms=request.now_ms,
    )
    visit.audit(tx, None, "carrier.add", carrier.name, after=_at(carrier), reason=reason)
    return redirect(f"{CARRIERS}/{carrier.name}", DoneNotice.SAVED)


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Drains, pauses, resumes or removes a carrier. Raises NotFound, InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    config.bump(tx)  # first: nobody else changes it between the two
    before = carriers.carrier_named(tx, request.path["carrier"])
    if wanted == "remove":
        waiting = messages_of_carrier(tx, before.id).total
        remove_carrier_and_numbers(tx, before.name, messages_waiting=waiting, now_ms=request.now_ms)
        visit.audit(tx, None, "carrier.remove", before.name, before=_at(before), reason=reason)
        return redirect(CARRIERS, DoneNotice.REMOVED)
    change_one = {
        "drain": carriers.drain_carrier,
        "pause": carriers.pause_carrier,
        "resume": carriers.resume_carrier,
    }[wanted]
    after = change_one(tx, before.name)
    if _taking(after) != _taking(before):
        visit.audit(
            tx,
            None,
            f"carrier.{wanted}",
            before.name,
            before=_taking(before),
            after=_taking(after),
            reason=reason,
        )
    return redirect(f"{CARRIERS}/{before.name}", DoneNotice.SAVED)


def _listed_carrier(
    carrier: Carrier, waiting: int | None, routes: Sequence[routing.Route]
) -> ListedCarrier:
    prefixes = [route.prefix for route in routes if carrier.id in route.carrier_ids]
    return ListedCarrier(carrier, waiting, prefixes)


def _taking(carrier: Carrier) -> str:
    states = {"draining": carrier.draining, "paused": carrier.paused}
    return ", ".join(state for state, is_so in states.items() if is_so) or "takes messages"


def _at(carrier: Carrier) -> str:
    host, port = (carriers.setting(carrier, name) for name in ("host", "port"))
    return f"{carriers.setting(carrier, 'system_id')} at {host}:{port}"
