"""Tries to bind to a carrier before it is added or changed, or at any time, and says what was
answered.

A trial asks another machine, so it stands in no transaction. It has a lane of its own, which
answers two at once: whoever looks at pages does not wait for a carrier that does not answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import Response

from heliograph import carriers
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.carriers import trial_connection
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.trial_bind import run_trial_bind
from heliograph.console.carrier_pages import carrier_settings
from heliograph.console.carrier_pages import carriers as carrier_pages
from heliograph.console.carrier_pages.bind_words import TRIAL_S, BindTrial, trial_in_words
from heliograph.console.carrier_pages.carrier_form import ADDED_ANYWAY, SAVED_ANYWAY, read_carrier
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import OF_NO_FIELD
from heliograph.portal.page_request import PageRequest


def try_new(request: PageRequest, visit: OperatorVisit) -> Response:
    """Tries what the form of a new carrier holds, and shows the form again with the answer. The
    password is not shown again.
    """
    try:
        trial = _try_bind(request, visit, _read_settings(request))
    except InvalidRequest as refused:
        return _render_form(request, visit, None, refused.fields)
    return _render_form(request, visit, trial)


def try_stored(request: PageRequest, visit: OperatorVisit) -> Response:
    """Tries a carrier with the settings that are stored. Raises NotFound, InvalidRequest."""
    with request.db.read() as tx:
        carrier = carriers.carrier_named(tx, request.path["carrier"])
        if carrier.type != "smpp":
            raise InvalidRequest(f"The carrier {carrier.name} is built in: nothing is bound to.")
        connection = carriers.connection_settings(tx, carrier, request.service.secret_keys)
    trial = _try_bind(request, visit, connection)
    with request.db.read() as tx:
        return carrier_pages.show_carrier(tx, request, visit, trial=trial)


def try_before_adding(request: PageRequest, visit: OperatorVisit) -> Response | None:
    """Tries a new carrier before it is added. If it cannot be bound, nothing is added and the form
    says why, unless the operator wants to add it all the same.
    """
    if ADDED_ANYWAY in request.sent.form:
        return None
    try:
        reason_of(request)  # what is refused anyway is refused before anybody is called
        trial = _try_bind(request, visit, _read_settings(request))
    except InvalidRequest as refused:
        return _render_form(request, visit, None, refused.fields)
    return None if trial.is_bound else _render_form(request, visit, trial)


def try_changed(request: PageRequest, visit: OperatorVisit) -> Response:
    """Tries a carrier with what the form of its settings holds, and shows the form again with the
    answer. Raises NotFound.
    """
    try:
        trial = _try_bind(request, visit, _changed_connection(request).connection)
    except InvalidRequest as refused:
        return _render_settings(request, visit, None, refused)
    return _render_settings(request, visit, trial)


def try_before_changing(request: PageRequest, visit: OperatorVisit) -> Response | None:
    """Tries a carrier before settings are changed that a bind needs. If it cannot be bound, nothing
    is changed and the form says why, unless the operator wants it all the same. Raises NotFound.
    """
    if SAVED_ANYWAY in request.sent.form:
        return None
    try:
        reason_of(request)  # what is refused anyway is refused before anybody is called
        changed = _changed_connection(request)
        if not changed.is_for_bind:
            return None
        trial = _try_bind(request, visit, changed.connection)
    except InvalidRequest as refused:
        return _render_settings(request, visit, None, refused)
    return None if trial.is_bound else _render_settings(request, visit, trial)


class _ChangedConnection(NamedTuple):
    """Holds what a link needs to a carrier once it is changed, and says whether a bind needs any of
    what changes.
    """

    connection: SmppSettings
    is_for_bind: bool


def _changed_connection(request: PageRequest) -> _ChangedConnection:
    with request.db.write() as tx:
        carrier = carriers.carrier_named(tx, request.path["carrier"])
        filled = carrier_settings.filled_settings(request, carrier)
        connection = carrier_settings.connection_of(tx, request, carrier, filled)
    return _ChangedConnection(connection, filled.is_for_bind)


def _render_settings(
    request: PageRequest,
    visit: OperatorVisit,
    trial: BindTrial | None,
    refused: InvalidRequest | None = None,
) -> Response:
    errors: Sequence[FieldError] = ()
    if refused is not None:
        errors = refused.fields or [FieldError(OF_NO_FIELD, refused.message)]
    with request.db.read() as tx:
        return carrier_settings.show_settings(tx, request, visit, errors, trial=trial)


def _read_settings(request: PageRequest) -> SmppSettings:
    given = read_carrier(request)
    return trial_connection(given.name, given.settings, given.password)


def _try_bind(request: PageRequest, visit: OperatorVisit, connection: SmppSettings) -> BindTrial:
    state, detail = run_trial_bind(connection, TRIAL_S)
    trial = trial_in_words(connection, state, detail)
    target = f"{connection.system_id} at {connection.host}:{connection.port}"
    with request.db.write() as tx:
        what = "bound" if trial.is_bound else "not bound"
        visit.audit(tx, None, "carrier.try", connection.name, after=f"{target}: {what}")
    return trial


def _render_form(
    request: PageRequest,
    visit: OperatorVisit,
    trial: BindTrial | None,
    errors: Sequence[FieldError] = (),
) -> Response:
    with request.db.read() as tx:
        return carrier_pages.show_list(tx, request, visit, errors, trial=trial)
