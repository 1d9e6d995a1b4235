"""Shows a user's own page: the password, and where he or she is signed in."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.portal.cookies import set_cookie
from heliograph.portal.page_request import BROWSER_COOKIE, YOU, PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.sign_in.browser_names import browser_name
from heliograph.portal.sign_in.finish_sign_in import BROWSER_KEPT_S
from heliograph.portal.visit import UserVisit, user_visit_of
from heliograph.users import operators, passkeys, password_tries, passwords, sign_ins, two_step


def show_user(
    tx: Connection, request: PageRequest, visit: UserVisit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows a form for a new password, and the user's sessions."""
    return page(
        "you.html",
        request,
        status=400 if errors else 200,
        visit=visit.displayed_visit,
        console_link=request.service.console_link
        if operators.role_of(tx, visit.session.user.id) is not None
        else None,
        sessions=[
            (session, browser_name(session.seen_by))
            for session in sign_ins.sessions_of(tx, visit.session.user, now_ms=request.now_ms)
        ],
        has_password=passwords.find(tx, visit.session.user.email) is not None,
        passkeys=passkeys.passkeys_of(tx, visit.session.user.id),
        text_id=passkeys.text_id,
        has_passkeys=request.service.passkey_site is not None,
        asks_code=two_step.is_on(tx, visit.session.user.id),
        recovery_codes_left=two_step.recovery_codes_left(tx, visit.session.user.id),
        errors={error.field: error.message for error in errors},
    )


def set_password(request: PageRequest) -> Response:
    """Stores a new password, and ends the user's other sessions. It takes a fresh sign-in."""
    with request.db.read() as tx:
        visit = user_visit_of(tx, request)
        visit.require_fresh(request.now_ms)
    user = visit.session.user
    try:
        password = passwords.read(request.sent.form.get("password", ""), user.email)
    except InvalidRequest as refused:
        with request.db.read() as tx:
            return show_user(tx, request, visit, refused.fields)
    argon2 = passwords.hash_of(password)  # in no transaction: it takes a while
    with request.db.write() as tx:
        user_visit_of(tx, request)
        passwords.store(tx, user.id, argon2, now_ms=request.now_ms)
        sign_ins.end_other_sessions(tx, visit.session)
        password_tries.forget_browsers(tx, user.id)
        browser = password_tries.know_browser(tx, user.id, request.browser, now_ms=request.now_ms)
    response = redirect(YOU, DoneNotice.SAVED)
    set_cookie(response, BROWSER_COOKIE, browser, kept_s=BROWSER_KEPT_S)
    return response


def end_session(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    """Ends one session of the user, or all but the one that asks."""
    wanted = request.sent.form.get("session", "")
    if wanted == "others":
        sign_ins.end_other_sessions(tx, visit.session)
    else:
        sign_ins.end_session_of(tx, visit.session.user.id, wanted)
    return redirect(YOU, DoneNotice.ENDED)
