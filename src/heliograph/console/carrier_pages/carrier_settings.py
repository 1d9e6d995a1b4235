"""Shows the settings of a carrier, and changes them, as the command does. Its password is never
shown.
"""

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import carriers
from heliograph.base.errors import FieldError
from heliograph.base.secrets import SecretUnreadable
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import Carrier, check_settings
from heliograph.carriers.smpp import SmppSettings
from heliograph.console.carrier_pages.bind_words import BindTrial
from heliograph.console.carrier_pages.settings_form import (
    FIELDS,
    FilledSettings,
    exact,
    filled_with,
    in_words,
    read_changes,
)
from heliograph.console.navigation import CARRIERS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.database import config
from heliograph.messages.doubt.audited_decisions import preview_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect


def show_settings(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
    *,
    trial: BindTrial | None = None,
) -> Response:
    """Shows the form of a carrier's settings, filled in with what holds now or was typed. `trial`
    is what became of an attempt to bind with it. Raises NotFound.
    """
    carrier = carriers.carrier_named(tx, request.path["carrier"])
    is_smpp = carrier.type == "smpp"
    shown = ("password", "reason", "shown", *FIELDS)
    return page(
        "carrier_settings.html",
        request,
        visit,
        status=400 if errors or (trial is not None and not trial.is_bound) else 200,
        carrier=carrier,
        is_smpp=is_smpp,
        choices=check_settings.CHOICES,
        shown=exact(carrier),
        typed=request.sent.form or (filled_with(carrier) if is_smpp else {}),
        trial=trial,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field.strip() and error.field not in shown],
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Changes settings of a carrier. Raises NotFound, and InvalidRequest, also when what the page
    showed is not what there is now.
    """
    reason = reason_of(request)
    config.bump(tx)  # first: nobody else changes it between the two
    before = carriers.carrier_named(tx, request.path["carrier"])
    filled = filled_settings(request, before)
    path = f"{CARRIERS}/{before.name}"
    if not filled.settings and filled.password is None:
        return redirect(path, DoneNotice.DONE_ALREADY)
    if request.sent.form.get("shown") != exact(before):
        raise invalid_field(
            "shown",
            "are not what there is now: somebody set them after you had opened this page. They are"
            f" now {in_words(before, before.settings)}. Look at them, then set yours",
        )
    after = _set(tx, request, before, filled)
    told = [in_words(after, filled.settings)] if filled.settings else []
    visit.audit(
        tx,
        None,
        "carrier.set",
        before.name,
        before=in_words(before, filled.settings) or None,
        after=", ".join([*told, *(["a new password"] if filled.password is not None else [])]),
        reason=reason,
    )
    return redirect(path, DoneNotice.SAVED)


def filled_settings(request: PageRequest, carrier: Carrier) -> FilledSettings:
    """Returns what the form changes. Raises InvalidRequest."""
    if carrier.type != "smpp":  # what it says of such a carrier, the use case says
        return FilledSettings({}, "")
    return read_changes(request, carrier)


def connection_of(
    tx: Connection, request: PageRequest, carrier: Carrier, filled: FilledSettings
) -> SmppSettings:
    """Returns what a link needs to the carrier once it is changed so. It is changed and changed
    back. Raises InvalidRequest.
    """

    def changed() -> SmppSettings:
        after = _set(tx, request, carrier, filled)
        return carriers.connection_settings(tx, after, request.service.secret_keys)

    return preview_of(tx, changed)


def _set(tx: Connection, request: PageRequest, carrier: Carrier, filled: FilledSettings) -> Carrier:
    try:
        return carriers.set_carrier(
            tx,
            carrier.name,
            filled.settings,
            filled.password,
            secret_key=request.service.secret_keys,
        )
    except SecretUnreadable as lost:
        raise invalid_field(
            "password", "is stored under a secret key that is not there any more: type it again"
        ) from lost
