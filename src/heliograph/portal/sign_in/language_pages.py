"""Lets people choose the language of pages: anybody for this browser, and by a user for all of
them.
"""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import users
from heliograph.base.errors import NotFound
from heliograph.portal import languages
from heliograph.portal.cookies import set_cookie
from heliograph.portal.filled_form import choice_of
from heliograph.portal.page_request import LANGUAGE_COOKIE, YOU, PageRequest, path_of_page
from heliograph.portal.rendering import HEADERS, SEE_OTHER
from heliograph.portal.visit import UserVisit

PATH: Final = "/portal/language"
KEPT_S: Final = 400 * 86_400  # no browser keeps a cookie for longer (RFC 6265bis, 5.5)


def choose(request: PageRequest) -> Response:
    """Keeps a language for this browser, and leads back. It is a link, so that it works before
    there is any form; whoever follows a stranger's link reads a page in another language, and no
    more. Raises NotFound for a language that the portal does not have.
    """
    wanted = languages.known_language(request.path["language"])
    if wanted is None:
        raise NotFound("There is no such page.")
    return _keep_language(wanted, path_of_page(dict(request.sent.query).get("back", "")))


def choose_for_user(tx: Connection, request: PageRequest, visit: UserVisit) -> Response:
    """Keeps a language for the user, in whichever browser, and for mail."""
    given = request.sent.form.get("language", "")
    wanted = choice_of("language", given, tuple(languages.LANGUAGES))
    users.choose_language(tx, visit.session.user.id, wanted)
    return _keep_language(wanted, YOU)


def _keep_language(language: str, back: str) -> Response:
    response = RedirectResponse(back, SEE_OTHER, HEADERS)
    set_cookie(response, LANGUAGE_COOKIE, language, kept_s=KEPT_S)
    return response
