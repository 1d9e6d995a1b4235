"""Users set up an authenticator app, and do without it again. All of it takes a fresh sign-in."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup
from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph.base.errors import FieldError, NotFound
from heliograph.portal.filled_form import choice_of
from heliograph.portal.form_idempotency import (
    random_of_user,
    redirect_user_once,
    run_user_form_once,
)
from heliograph.portal.page_request import YOU, PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page, redirect
from heliograph.portal.visit import UserVisit
from heliograph.requests import ApiResponse
from heliograph.users import operators, sign_ins, two_step

PATH: Final = f"{YOU}/authenticator"
CHOICES: Final = ("begin", "confirm", "new codes", "turn off")
MAKES_CODES: Final = ("confirm", "new codes")
RECOVERY_PURPOSE: Final = "recovery codes"
_GROUP: Final = 4  # characters of the secret, for whoever types it


def show_authenticator(
    tx: Connection, request: PageRequest, visit: UserVisit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the secret that an app has to know, and asks for a code. It is a QR code, a link for
    whoever has the app on the same phone, which cannot scan its own screen, and text.
    A secret that counts already is shown to nobody: then it leads to the user's page.
    """
    visit.require_proof(tx, request.now_ms)  # who sees the secret has the second step
    user = visit.session.user
    try:
        secret = two_step.unconfirmed_secret(tx, request.service.secret_keys, user.id)
    except NotFound:
        return RedirectResponse(YOU, SEE_OTHER, HEADERS)
    address = two_step.address_for_app(secret, user.email)
    starts = range(0, len(secret), _GROUP)
    return page(
        "authenticator.html",
        request,
        status=400 if errors else 200,
        visit=visit.displayed_visit,
        secret=[secret[start : start + _GROUP] for start in starts],
        address=address,
        code=_qr_code(address),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    """Makes a secret, lets it count, makes new recovery codes, or turns the second step off. What
    changes how the user proves who he or she is ends the user's other sessions, as a new password
    does: whoever is in one of them has proven less.
    """
    visit.require_proof(tx, request.now_ms)
    wanted = choice_of("do", request.sent.form.get("do", ""), CHOICES)
    if wanted in MAKES_CODES:
        return _with_codes(tx, request, visit, is_confirmed=wanted == "confirm")
    return redirect_user_once(_begin if wanted == "begin" else _turn_off)(tx, request, visit)


def _with_codes(
    tx: Connection, request: PageRequest, visit: UserVisit, *, is_confirmed: bool
) -> Response:
    """Makes recovery codes, and shows them, also to a user who sends this form twice: they are made
    of its random value, and stored nowhere.
    """
    user, keys = visit.session.user, request.service.secret_keys
    random = random_of_user(request, visit.session, RECOVERY_PURPOSE)

    def effect(tx: Connection) -> ApiResponse:
        if is_confirmed:
            code = request.sent.form.get("code", "").strip()
            two_step.confirm(tx, keys, user.id, code, random, now_ms=request.now_ms)
            operators.note_second_step(tx, visit.session)
        else:
            two_step.new_recovery_codes(tx, user.id, random)
        sign_ins.end_other_sessions(tx, visit.session)
        return ApiResponse({})

    run_user_form_once(tx, request, user.id, effect)
    codes = two_step.written_codes(random)
    if not two_step.any_counts(tx, user.id, codes):  # others have taken their place since
        return redirect(YOU)
    return page("recovery_codes.html", request, visit=visit.displayed_visit, codes=codes)


def _begin(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    keys = request.service.secret_keys
    two_step.begin(tx, keys, visit.session.user.id, now_ms=request.now_ms)
    return redirect(PATH)


def _turn_off(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    two_step.turn_off(tx, visit.session.user.id)
    sign_ins.end_other_sessions(tx, visit.session)
    return redirect(YOU)


def _qr_code(address: str) -> Markup:
    """Returns a QR code as SVG, dark on light in both themes, for not all cameras read others."""
    import segno  # few pages need it

    drawn = segno.make(address, error="m").svg_inline(
        scale=5, border=4, dark="#000", light="#fff", svgclass="qr", lineclass=None, title=None
    )
    return Markup(drawn)  # made here, of what we have written  # noqa: S704
