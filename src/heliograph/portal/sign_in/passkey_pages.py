"""Signs users in with passkeys, and lets them look after their own. The browser asks what to sign
when somebody presses the button, so a page may stay open for as long as it likes.
"""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import JSONResponse, Response

from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.portal.filled_form import choice_of
from heliograph.portal.page_request import YOU, PageRequest, path_of_page
from heliograph.portal.rendering import HEADERS, DoneNotice, RemovedAlready, redirect
from heliograph.portal.sign_in import code_page, sign_in_pages
from heliograph.portal.sign_in.finish_sign_in import finish_sign_in
from heliograph.portal.visit import UserVisit
from heliograph.users import operators, passkeys, password_tries, sign_ins
from heliograph.users.passkeys import Asker, PasskeyRefused

PATH: Final = f"{YOU}/passkeys"
PATH_SHOWN: Final = f"{YOU}#passkeys"
CHOICES: Final = ("make", "rename", "remove")


def authentication_options(request: PageRequest) -> Response:
    """Answers what a passkey has to sign, for the script of the sign-in page."""
    options = passkeys.authentication_options(_asker(request), now_ms=request.now_ms)
    return JSONResponse(options, headers=HEADERS)


def sign_in(request: PageRequest) -> Response:
    """Signs in the user whose passkey has answered, and leads to the page that was asked for. As
    the second step of a sign-in, only a passkey of the user counts whose password or link was
    right: another one would sign in somebody else.
    """
    form = request.sent.form
    back = path_of_page(form.get("back", ""))
    is_second = "is_second" in form
    try:
        with request.db.write() as tx:
            only = (
                sign_ins.user_waiting_for_code(tx, request.waiting_sign_in, now_ms=request.now_ms)
                if is_second
                else None
            )
            user_id, session = passkeys.sign_in(
                tx,
                _asker(request),
                form.get("answer", ""),
                only=only,
                seen_by=request.user_agent,
                now_ms=request.now_ms,
            )
            sign_ins.end_session(tx, request.session)
            browser = password_tries.know_browser(
                tx, user_id, request.browser, now_ms=request.now_ms
            )
    except PasskeyRefused as refused:
        if is_second:
            return code_page.render_form(request, refused.status, back, passkey_why=str(refused))
        return sign_in_pages.render_form(
            request, refused.status, back=back, passkey_why=str(refused)
        )
    return finish_sign_in(session, back, browser)


def registration_options(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    """Answers what a browser has to know to make a passkey, for the script of the user's page."""
    visit.require_proof(tx, request.now_ms)
    options = passkeys.registration_options(
        tx, _asker(request), visit.session.user, now_ms=request.now_ms
    )
    return JSONResponse(options, headers=HEADERS)


def change(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    """Makes a passkey of the user's, gives one another name, or removes one. One that is made or
    removed ends the user's other sessions, as a new password does. Raises InvalidRequest, NotFound,
    and RemovedAlready.
    """
    visit.require_proof(tx, request.now_ms)
    form, user = request.sent.form, visit.session.user
    wanted = choice_of("do", form.get("do", ""), CHOICES)
    name, passkey_id = form.get("name", ""), form.get("passkey", "")
    if wanted == "make":
        try:
            passkeys.make(
                tx, _asker(request), user, name, form.get("answer", ""), now_ms=request.now_ms
            )
        except PasskeyRefused as error:
            message = str(error)
            raise InvalidRequest(message, fields=[FieldError("answer", message)]) from error
        operators.note_second_step(tx, visit.session)
    elif wanted == "rename":
        passkeys.rename(tx, user.id, passkey_id, name)
    else:
        try:
            passkeys.remove(tx, user.id, passkey_id)
        except NotFound as gone:
            raise RemovedAlready(list_path=PATH_SHOWN) from gone
    if wanted != "rename":
        sign_ins.end_other_sessions(tx, visit.session)
    return redirect(PATH_SHOWN, DoneNotice.REMOVED if wanted == "remove" else DoneNotice.SAVED)


def _asker(request: PageRequest) -> Asker:
    """Returns the one that asks browsers for passkeys. Raises NotFound where the service has no
    name that passkeys could be for.
    """
    site = request.service.passkey_site
    if site is None:
        raise NotFound("This service takes no passkeys: HELIOGRAPH_BASE_URL has no host name.")
    return Asker(site, request.service.secret_keys, request.form_secret)
