"""Signing in by a link, and signing out.

Programs that look at mail open the links in it. So a link shows a page with a button, and the
button uses the link up.
"""

from starlette.responses import RedirectResponse, Response

from heliograph import users
from heliograph.portal.page_request import (
    FORM_COOKIE,
    SESSION_COOKIE,
    PageRequest,
    new_form_secret,
)
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.users import NotSignedIn

HOME = "/portal"


def signed_out(asking: PageRequest) -> Response:
    """Says how to come in."""
    return page("signed_out.html", asking, status=401)


def ask(asking: PageRequest) -> Response:
    """Shows the button that uses the link in the path up."""
    return page("sign_in.html", asking, link=asking.path["link"])


def sign_in(asking: PageRequest) -> Response:
    """Uses the link up, and leads to the overview. A link that was used says so."""
    try:
        with asking.db.write() as tx:
            secret = users.begin(
                tx, asking.path["link"], seen_by=asking.seen_by, now_ms=asking.now_ms
            )
    except NotSignedIn as refused:
        return page("link_used.html", asking, status=refused.status)
    response = RedirectResponse(HOME, SEE_OTHER, HEADERS)
    _set(response, SESSION_COOKIE, secret)
    # forms that somebody else has made this browser open belong to nobody now
    _set(response, FORM_COOKIE, new_form_secret())
    return response


def sign_out(asking: PageRequest) -> Response:
    """Ends the session."""
    with asking.db.write() as tx:
        users.end(tx, asking.session)
    response = RedirectResponse(HOME, SEE_OTHER, HEADERS)
    response.delete_cookie(SESSION_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return response


def _set(response: Response, cookie: str, value: str) -> None:
    """A session's cookie comes along when a link of another site is followed (lax), so that a
    bookmark or a mail leads where it should.
    """
    response.set_cookie(cookie, value, path="/", secure=True, httponly=True, samesite="lax")
