"""Pages are made of Jinja templates. What a page shows is escaped, whoever wrote it."""

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.portal import languages
from heliograph.portal.cookies import drop_cookie, set_cookie
from heliograph.portal.languages import failures, formats, refusals
from heliograph.portal.page_request import (
    DONE_COOKIE,
    KEPT_COOKIE,
    OF_ONE_REQUEST,
    TOKEN_FIELD,
    PageRequest,
)

# A page runs no script but files of this site, none of which evaluates text.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # with no-referrer, a form of this site would come with the Origin "null"
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
# who sees a page in another language sees another page
_LANGUAGE_HEADERS: Final = {"vary": "Accept-Language, Cookie"}
SEE_OTHER: Final = 303
NO_CONTENT: Final = 204
_SHOWN_DIGITS: Final = 16
_AGES_MS: Final = 60_000  # `ago` counts whole minutes
NOTICE_KEPT_S: Final = 60  # the next page comes at once
MEDIA_TYPES: Final = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
YEAR_S: Final = 31_536_000


class DoneNotice(StrEnum):
    """Names what a form has done, which the page that follows says for a moment
    (`DONE_NOTICES`).
    """

    SAVED = "saved"
    REMOVED = "removed"
    REMOVED_ALREADY = "removed-already"
    REVOKED = "revoked"
    ENDED = "ended"
    ON_ITS_WAY = "on-its-way"
    ON_ITS_WAY_TO_SOME = "on-its-way-to-some"
    FIRST_ON_THEIR_WAY = "first-on-their-way"
    NOTHING_MISSED = "nothing-missed"
    DONE_ALREADY = "done-already"


DONE_NOTICES: Final[Mapping[str, str]] = {
    DoneNotice.SAVED: languages.marked("Saved"),
    DoneNotice.REMOVED: languages.marked("Removed"),
    DoneNotice.REMOVED_ALREADY: languages.marked("That was removed already"),
    DoneNotice.REVOKED: languages.marked("Revoked"),
    DoneNotice.ENDED: languages.marked("Ended"),
    DoneNotice.ON_ITS_WAY: languages.marked("On its way"),
    DoneNotice.ON_ITS_WAY_TO_SOME: languages.marked("On its way, but not to all of the numbers"),
    DoneNotice.FIRST_ON_THEIR_WAY: languages.marked(
        "The oldest are on their way: repeat it for the rest"
    ),
    DoneNotice.NOTHING_MISSED: languages.marked("Nothing to deliver again in that time"),
    DoneNotice.DONE_ALREADY: languages.marked("That was done already"),
}


class RemovedAlready(NotFound):
    """Somebody has removed this already."""

    def __init__(self, list_path: str) -> None:
        super().__init__()
        self.list_path = list_path  # of what is there still


class Download(StreamingResponse):
    """Holds a file of this name, which is made piece by piece while it is sent. Until a piece has
    text in it, what goes wrong is told by a page instead.
    """

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        super().__init__(
            (),
            headers={**HEADERS, "content-disposition": f'attachment; filename="{name}"'},
            media_type="text/csv" if name.endswith(".csv") else "text/plain",
        )
        self.pieces = pieces


def uploaded_file(content: bytes, name: str, media_type: str) -> Response:
    """Returns a file that somebody has uploaded. A browser saves it, and neither guesses what it is
    nor runs anything in it.
    """
    return Response(
        content,
        headers={
            **HEADERS,
            "content-security-policy": "default-src 'none'; sandbox",
            "content-disposition": f'attachment; filename="{name}"',
        },
        media_type=media_type,
    )


class Redirect(RedirectResponse):
    """Leads to a page after a form has done something. With `notice`, that page shows it, once."""

    def __init__(self, path: str, notice: DoneNotice | None) -> None:
        super().__init__(path, SEE_OTHER, HEADERS)
        self.path, self.notice = path, notice
        if notice is not None:
            set_cookie(self, DONE_COOKIE, notice, kept_s=NOTICE_KEPT_S)


def redirect(path: str, notice: DoneNotice | None = None) -> Redirect:
    """Leads to a page after a form has done something. With `notice`, that page shows it, once."""
    return Redirect(path, notice)


def page(
    template: str,
    request: PageRequest,
    *,
    status: int = 200,
    room: str = str(__package__),
    is_live: bool = False,
    is_form_page: bool = False,
    **values: Any,
) -> Response:
    """Returns the page that a template of a room makes of these values. `is_live` says whether it
    has parts that ask for themselves again and again. If one of them shows these values already,
    the answer is empty, and no page is made. `is_form_page` says whether it shows a form again also
    where nothing was refused.
    """
    is_again = is_form_page or request.is_refilled or status >= HTTPStatus.BAD_REQUEST
    language = languages.language()
    live_shown = _hash_of_content(language, request, values) if is_live else ""
    if request.shown_hash and request.shown_hash == live_shown:
        return Response(status_code=NO_CONTENT, headers=HEADERS)
    text = (
        _environment(language, room)
        .get_template(template)
        .render(
            form_token=request.form_token,
            token_field=TOKEN_FIELD,
            now_ms=request.now_ms,
            style=_address_of_file("portal.css"),
            script=_address_of_file("portal.js"),
            passkey_script=_address_of_file("passkeys.js"),
            icon=_address_of_file("icon.svg"),
            htmx=_address_of_file("htmx.js"),
            language=language,
            here_again=request.page,
            page_of_form=request.page_of_form if is_again else "",
            live_shown=live_shown,
            said=languages.translated(DONE_NOTICES.get(request.done_notice, "")),
            is_refilled=request.is_refilled,
            once=request.once_after(status),
            **values,
        )
    )
    response = HTMLResponse(
        text, status, {**HEADERS, **_LANGUAGE_HEADERS, "content-language": language}
    )
    if request.done_notice:
        drop_cookie(response, DONE_COOKIE)
    if request.is_refilled:
        drop_cookie(response, KEPT_COOKIE)
    return response


def _hash_of_content(language: str, request: PageRequest, values: Mapping[str, Any]) -> str:
    """Returns a hash of all that a page is made of, but what is another with each request. Times
    that are shown as an age grow older by the minute. The session stands for the visit, because a
    user who gets another role gets another session.
    """
    lasting = {name: value for name, value in values.items() if name not in OF_ONE_REQUEST}
    all_of_it = repr((language, request.session, request.now_ms // _AGES_MS, lasting))
    return hashlib.sha256(all_of_it.encode(errors="surrogatepass")).hexdigest()[:_SHOWN_DIGITS]


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Returns the files that pages load, each with its media type, by a name that has a hash of
    what is in it. So a browser may keep one for a year. Raises FileNotFoundError if the assets were
    not built.
    """
    found = {}
    folder = resources.files(__package__).joinpath("static")
    built = folder.joinpath("built")
    if not built.is_dir():
        raise FileNotFoundError("static/built is missing: `make install` makes it")
    for file in (*folder.iterdir(), *built.iterdir()):
        if not file.is_file():
            continue
        content = file.read_bytes()
        stem, _, ending = file.name.rpartition(".")
        name = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
        found[name] = content, MEDIA_TYPES[ending]
    return found


def static_file(name: str) -> Response | None:
    """Returns one of these files, or None."""
    file = static_files().get(name)
    if file is None:
        return None
    content, media_type = file
    return Response(
        content,
        headers={
            "cache-control": f"public, max-age={YEAR_S}, immutable",
            "x-content-type-options": "nosniff",
        },
        media_type=media_type,
    )


@cache
def _address_of_file(file: str) -> str:
    stem, _, ending = file.rpartition(".")
    return next(
        f"/portal/static/{name}"
        for name in static_files()
        if name.startswith(f"{stem}.") and name.endswith(f".{ending}")
    )


@cache
def _environment(language: str, room: str) -> jinja2.Environment:
    """Returns what makes pages in a language, of the templates of a room and those of this one."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(each, "templates") for each in {room: 1, str(__package__): 1}]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    catalog = languages.catalog(language)
    # the extension adds it
    install: Any = environment.install_gettext_translations  # type: ignore[attr-defined]
    install(catalog, newstyle=True)
    environment.filters |= {
        "rfc3339": rfc3339,
        "grouped": formats.grouped,
        "signed": formats.signed,
        "signed_money": formats.signed_money,
        "entry_words": _entry_name,
        "signed_percent": formats.signed_percent,
        "percent": formats.percent,
        "ago": formats.ago,
        "in_ms": formats.in_ms,
        "day": formats.day,
        "day_named": formats.day_named,
        "moment": formats.moment,
        "money": formats.money,
        "word": languages.translated,
        "translated_error": refusals.translated_refusal,
        "told_failure": failures.told_failure,
        "failure_words": failures.failure_words,
    }
    environment.globals["icons"] = _address_of_file("icons.svg")
    environment.globals["languages"] = languages.LANGUAGES
    return environment


def _entry_name(entry_type: str) -> str:
    """Returns what a type of a ledger entry is to a reader, such as `SMS charge`."""
    words = entry_type.replace("_", " ").replace("sms", "SMS").replace("topup", "top-up")
    return languages.translated(words[0].upper() + words[1:])
