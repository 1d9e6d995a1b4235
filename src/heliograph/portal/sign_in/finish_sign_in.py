"""Decides what a browser is told when somebody has come in, or has to give a code first."""

from typing import Final
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from heliograph.portal.cookies import drop_cookie, set_cookie
from heliograph.portal.page_request import (
    BROWSER_COOKIE,
    FORM_COOKIE,
    SESSION_COOKIE,
    WAITING_COOKIE,
    new_form_secret,
)
from heliograph.portal.rendering import HEADERS, SEE_OTHER
from heliograph.users import sign_ins

BROWSER_KEPT_S: Final = 180 * 86_400
CODE_PATH: Final = "/portal/sign-in/code"


def continue_sign_in(begun: sign_ins.SignIn, back: str, browser: str | None = None) -> Response:
    """Leads a user who has begun a sign-in to the page `back`, or to the form for a code, which
    leads there. `browser` is the secret by which the browser is known from now on.
    """
    if not begun.waits:
        return finish_sign_in(begun.secret, back, browser)
    response = RedirectResponse(f"{CODE_PATH}?{urlencode({'back': back})}", SEE_OTHER, HEADERS)
    set_cookie(response, WAITING_COOKIE, begun.secret)
    set_cookie(response, FORM_COOKIE, new_form_secret())
    return response


def finish_sign_in(session: str, back: str, browser: str | None = None) -> Response:
    """Leads a user who is signed in now to the page `back`."""
    response = RedirectResponse(back, SEE_OTHER, HEADERS)
    set_cookie(response, SESSION_COOKIE, session)
    # forms that somebody else has made this browser open belong to nobody now
    set_cookie(response, FORM_COOKIE, new_form_secret())
    drop_cookie(response, WAITING_COOKIE)
    if browser is not None:
        set_cookie(response, BROWSER_COOKIE, browser, kept_s=BROWSER_KEPT_S)
    return response
