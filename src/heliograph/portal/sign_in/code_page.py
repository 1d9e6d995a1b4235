"""The second step of signing in is the code of an authenticator app, or a recovery code.

Whoever is asked for it is not signed in: only this form knows the sign-in that waits.
"""

from starlette.responses import RedirectResponse, Response

from heliograph.portal.page_request import PageRequest, path_of_page
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.sign_in.finish_sign_in import finish_sign_in
from heliograph.users import password_tries, sign_ins, two_step
from heliograph.users.password_tries import Guesser, TooManyCodes


def show_form(request: PageRequest) -> Response:
    """Shows the form for the code to somebody whose sign-in waits for one."""
    back = path_of_page(dict(request.sent.query).get("back", ""))
    try:
        with request.db.read() as tx:
            sign_ins.user_waiting_for_code(tx, request.waiting_sign_in, now_ms=request.now_ms)
    except sign_ins.NotSignedIn:
        return RedirectResponse("/portal/sign-in", SEE_OTHER, HEADERS)
    return render_form(request, 200, back)


def sign_in(request: PageRequest) -> Response:
    """Signs in the user if the code is right, and leads to where the sign-in began."""
    sent = request.sent.form
    back = path_of_page(sent.get("back", ""))
    code = sent.get("code", "").strip()
    try:
        session, browser = _finish(request, code)
    except sign_ins.NotSignedIn:  # it took longer than ten minutes
        return RedirectResponse("/portal/sign-in", SEE_OTHER, HEADERS)
    except (sign_ins.WrongCode, TooManyCodes) as refused:
        response = render_form(request, refused.status, back, str(refused))
        if refused.retry_after_s is not None:
            response.headers["retry-after"] = str(refused.retry_after_s)
        return response
    return finish_sign_in(session, back, browser)


def render_form(
    request: PageRequest, status: int, back: str, why: str = "", passkey_why: str = ""
) -> Response:
    """Shows the form. `why` says what was wrong with a code, and `passkey_why` what was wrong with
    a passkey.
    """
    return page(
        "code.html",
        request,
        status=status,
        back=back,
        why=why,
        passkey_why=passkey_why,
        has_passkeys=request.service.passkey_site is not None,
    )


def _finish(request: PageRequest, code: str) -> tuple[str, str]:
    """Returns the secrets of a new session and of the browser, which is known now.

    Raises NotSignedIn, TooManyCodes and WrongCode.
    """
    now_ms = request.now_ms
    with request.db.write() as tx:
        user = sign_ins.user_waiting_for_code(tx, request.waiting_sign_in, now_ms=now_ms)
        guesser = Guesser(user.email, request.address, request.browser)
        if not two_step.is_recovery_code(code):
            password_tries.count_code(tx, guesser, now_ms=now_ms)
    with request.db.write() as tx:
        session = sign_ins.finish(
            tx,
            request.service.secret_keys,
            request.waiting_sign_in,
            code,
            seen_by=request.user_agent,
            now_ms=now_ms,
        )
        sign_ins.end_session(tx, request.session)
        password_tries.forget_codes(tx, guesser, now_ms=now_ms)
        return session, password_tries.know_browser(tx, user.id, request.browser, now_ms=now_ms)
