"""Leads each path of the portal to its page."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from heliograph.base import cancelling, clock
from heliograph.base.errors import (
    MethodNotAllowed,
    NotFound,
    ServiceError,
    Unavailable,
)
from heliograph.base.periodic import repeat
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor
from heliograph.portal import components, languages
from heliograph.portal.cookies import set_cookie, sets_cookie
from heliograph.portal.handlers import Handler, PageRoute, page_of_refused_upload
from heliograph.portal.lanes import Lane, Lanes
from heliograph.portal.page_request import (
    BACK_COOKIE,
    BROWSER_COOKIE,
    CONSOLE,
    DONE_COOKIE,
    FORM_COOKIE,
    HOME,
    KEPT_COOKIE,
    LANGUAGE_COOKIE,
    NOTHING_SENT,
    ONCE_FIELD,
    SESSION_COOKIE,
    SHOWN_HEADER,
    TOKEN_FIELD,
    WAITING_COOKIE,
    ClientOf,
    PageRequest,
    SentFields,
    Service,
    new_form_secret,
    page_of,
    read_form,
    read_query,
    require_ours,
    require_this_site,
    site_of,
)
from heliograph.portal.pages import PAGES, PAGES_WITHOUT_PORTAL
from heliograph.portal.rendering import HEADERS, Download, page, static_file
from heliograph.portal.sign_in import sign_in_pages
from heliograph.portal.sign_in.mailer import Mailer, mailer_for
from heliograph.portal.uploaded_form import UploadTooLarge, is_upload, read_upload
from heliograph.portal.visit import NotFresh
from heliograph.users import passkeys, sign_ins
from heliograph.webhooks.http.address_guard import allowed_networks

MAIL_EVERY_S: Final = 1.0
ROOTS: Final = ("/", HOME)


class Portal:
    """Serves the pages, as an ASGI application. `is_mine` says which paths are its own: `roots`,
    and what is below them.
    """

    def __init__(
        self,
        service: Service,
        mailer: Mailer | None = None,
        pages: Sequence[PageRoute] = PAGES,
        roots: Sequence[str] = ROOTS,
    ) -> None:
        self._roots = frozenset(roots)
        self._below = tuple(f"{root}/" for root in roots if root != "/")
        self._service = service._replace(
            sends_mail=mailer is not None,
            takes_sign_ups=service.takes_sign_ups and mailer is not None,
        )
        self._mailer = mailer
        self._mailing: asyncio.Task[NoReturn] | None = None
        self._lanes = Lanes()
        self._app = Starlette(
            routes=[
                Route("/", _lead_to_portal),
                Route("/portal/static/{name}", _static),
                *(self._route_of(each) for each in pages),
                *(
                    [self._page_route(components.PATH, components.show_components)]
                    * service.shows_components
                ),
            ],
            exception_handlers={HTTPException: self._no_such_page},
        )
        # no path with a slash behind it is redirected: behind a proxy that would be to plain HTTP
        self._app.router.redirect_slashes = False

    def _route_of(self, page: PageRoute) -> Route:
        if page.may is not None:
            return self._file_form_route(page, page.may)
        if page.is_form:
            return self._form_route(page.path, page.handle, page.lane)
        return self._page_route(page.path, page.handle)

    def is_mine(self, path: str) -> bool:
        return path in self._roots or path.startswith(self._below)

    @property
    def routes(self) -> list[Route]:
        """Returns all routes, for the tests that are generated from them."""
        return [route for route in self._app.routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def start(self) -> None:
        """Begins to send mail, if any is sent."""
        if self._mailer is not None:
            self._mailing = asyncio.create_task(
                repeat(self._mailer.send_due, wait=MAIL_EVERY_S, fault="mails_not_looked_for")
            )

    async def close(self) -> None:
        if self._mailing is not None:
            await cancelling.cancel_and_wait(self._mailing)
        await self._lanes.close()

    def _page_route(self, path: str, handler: Handler) -> Route:
        async def show(http_request: Request) -> Response:
            try:
                sent = SentFields(query=read_query(http_request))
            except ServiceError as refused:
                return await self._answer(http_request, _refusal_handler(refused), NOTHING_SENT)
            return await self._answer(http_request, handler, sent)

        return Route(path, show, methods=["GET"])

    def _form_route(self, path: str, handler: Handler, lane: Lane) -> Route:
        async def do(http_request: Request) -> Response:
            try:
                sent = SentFields(form=await read_form(http_request))
                require_ours(http_request, self._page_request(http_request, sent))
            except ServiceError as refused:
                return await self._answer(http_request, _refusal_handler(refused), NOTHING_SENT)
            return await self._answer(http_request, handler, sent, lane)

        return Route(path, do, methods=["POST"])

    def _file_form_route(self, page: PageRoute, may: Handler) -> Route:
        """Leads to a form with a file. The file is read unless `may` refuses: by an error, or by
        a page with a status of 400 or more.
        """

        async def take(http_request: Request) -> Response:
            try:
                require_this_site(http_request)
                request = self._page_request(http_request, NOTHING_SENT)
                allowed = await self._lanes.run(Lane.PAGES, lambda: may(request))
                if allowed.status_code >= HTTPStatus.BAD_REQUEST:
                    return allowed
                if page.may_lack_files and not is_upload(http_request):
                    sent = SentFields(form=await read_form(http_request))
                else:
                    sent = await read_upload(http_request, page.octets_max, page.files_max)
                require_ours(http_request, self._page_request(http_request, sent))
            except UploadTooLarge as refused:
                return await self._answer_too_large(http_request, page, refused)
            except ServiceError as refused:
                return await self._answer(http_request, _handler_that_raises(refused), NOTHING_SENT)
            return await self._answer(http_request, page.handle, sent)

        return Route(page.path, take, methods=["POST"])

    async def _answer_too_large(
        self, http_request: Request, page: PageRoute, refused: UploadTooLarge
    ) -> Response:
        """Answers a form whose files are too large. One of ours is shown again, with what was
        typed before the files.
        """
        sent, handler = SentFields(form=refused.form), _handler_that_raises(refused)
        try:
            require_ours(http_request, self._page_request(http_request, sent))
        except ServiceError:
            sent = NOTHING_SENT
        else:
            if page.show_again is not None:
                handler = page_of_refused_upload(page.show_again, refused)
        return await self._answer(http_request, handler, sent)

    async def _answer(
        self, http_request: Request, handler: Handler, sent: SentFields, lane: Lane = Lane.PAGES
    ) -> Response:
        request = self._page_request(http_request, sent)
        try:
            response = await self._lanes.run(lane, lambda: _run_handler(handler, request))
        except Unavailable as refused:  # too many wait
            languages.use_language(request.language)
            response = _refusal_handler(refused)(request)
        if isinstance(response, Download):
            response = await self._start_download(response, request)
        if FORM_COOKIE not in http_request.cookies and not sets_cookie(response, FORM_COOKIE):
            set_cookie(response, FORM_COOKIE, request.form_secret)
        return response

    async def _start_download(self, download: Download, request: PageRequest) -> Response:
        """Returns a download when its first text is made, or a page that says why there is none.
        Each piece is made by a thread of the pages, and when the one before was sent: so who reads
        slowly keeps no thread and no transaction.
        """
        rest = self._run_pieces(download.pieces)
        try:
            first = await anext(piece async for piece in rest if piece)
        except ServiceError as refused:
            failed = refused
            return await self._lanes.run(
                Lane.PAGES, lambda: _run_handler(_handler_that_raises(failed), request)
            )
        download.body_iterator = _chain(first, rest)
        return download

    async def _run_pieces(self, pieces: Iterator[str]) -> AsyncIterator[str]:
        while (piece := await self._lanes.run(Lane.PAGES, lambda: next(pieces, None))) is not None:
            yield piece

    def _page_request(self, http_request: Request, sent: SentFields) -> PageRequest:
        return PageRequest(
            self._service,
            clock.now_ms(),
            session=http_request.cookies.get(SESSION_COOKIE, ""),
            waiting_sign_in=http_request.cookies.get(WAITING_COOKIE, ""),
            form_secret=http_request.cookies.get(FORM_COOKIE) or new_form_secret(),
            path=http_request.path_params,
            sent=sent,
            page=page_of(http_request),
            browser=http_request.cookies.get(BROWSER_COOKIE, ""),
            address=str(self._service.client_of(http_request.scope) or ""),
            loop=asyncio.get_running_loop(),
            site=self._service.base_url or site_of(http_request),
            user_agent=http_request.headers.get("user-agent", ""),
            return_path=http_request.cookies.get(BACK_COOKIE, ""),
            done_notice=http_request.cookies.get(DONE_COOKIE, ""),
            shown_hash=http_request.headers.get(SHOWN_HEADER, ""),
            url_path=http_request.url.path,
            kept_form=http_request.cookies.get(KEPT_COOKIE, ""),
            language=languages.known_language(http_request.cookies.get(LANGUAGE_COOKIE))
            or languages.preferred_language(http_request.headers.get("accept-language", "")),
        )

    async def _no_such_page(self, http_request: Request, error: Any) -> Response:
        refused: ServiceError = NotFound("There is no such page.")
        if error.status_code == MethodNotAllowed.status:
            above = self._page_above(http_request)
            if above is not None:
                return RedirectResponse(above, HTTPStatus.SEE_OTHER, headers=HEADERS)
            refused = MethodNotAllowed([], "This page does not take that method.")
        response = await self._answer(http_request, _refusal_handler(refused), NOTHING_SENT)
        response.headers.update(error.headers or {})  # Allow, with 405
        return response

    def _page_above(self, http_request: Request) -> str | None:
        """Returns the nearest page above an address that takes a form only, for who opens that
        address again: the browser has it in its address bar after a form that was refused.
        """
        path = http_request.url.path
        while http_request.method in ("GET", "HEAD") and (path := path.rpartition("/")[0]):
            scope = {**http_request.scope, "path": path}
            if any(route.matches(scope)[0] is Match.FULL for route in self._app.routes):
                return path
        return None


def portal_for(
    settings: Settings,
    db: Database,
    client_of: ClientOf,
    acceptor: Acceptor,
    console: Sequence[PageRoute] = (),
    *,
    portal_url: str | None = None,
) -> Portal | None:
    """Returns the portal, with the pages of the console beside it. Where the settings want no
    portal (HELIOGRAPH_PORTAL=off), it is the sign-in and the console; without a console, None.
    `client_of` finds the address of a request's client. `portal_url` is where members find the
    portal, if not here. Raises SettingError.
    """
    if not settings.portal and not console:
        return None
    pages = (*(PAGES if settings.portal else PAGES_WITHOUT_PORTAL), *console)
    roots = (*(ROOTS if settings.portal else (HOME,)), *((CONSOLE,) if console else ()))
    return Portal(
        Service(
            db,
            settings.secret_keys,
            acceptor,
            service_sender=settings.otp_sender,
            webhook_networks=allowed_networks(settings),
            client_of=client_of,
            takes_sign_ups=settings.signup and settings.portal,
            passkey_site=passkeys.site_of(settings.base_url),
            base_url=settings.base_url,
            portal_url=portal_url or settings.base_url,
            console_link=_console_link(settings, served=bool(console)),
            shows_components=settings.portal_components,
        ),
        mailer_for(settings, db),
        pages,
        roots,
    )


def _console_link(settings: Settings, *, served: bool) -> str | None:
    """Returns where operators find the console, or None if nobody has said it."""
    if served:
        return CONSOLE
    return settings.console_url and settings.console_url + CONSOLE


def _run_handler(handler: Handler, request: PageRequest) -> Response:
    """Returns what a handler answers, or a page that says why there is no answer."""
    languages.use_language(request.language)
    try:
        return handler(request)
    except sign_ins.NotSignedIn:
        return _as_whole_page(sign_in_pages.show_signed_out(request))
    except NotFresh as missing:
        return _as_whole_page(sign_in_pages.ask_to_sign_in_again(request, missing))
    except ServiceError as refused:
        return _refusal_handler(refused)(request)


def _as_whole_page(response: Response) -> Response:
    """Returns a page that is shown as a whole, even if only a part of one was asked for."""
    response.headers["hx-refresh"] = "true"
    return response


def _handler_that_raises(error: ServiceError) -> Handler:
    def fail(request: PageRequest) -> Response:
        raise error

    return fail


async def _chain(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for piece in rest:
        yield piece


def _refusal_handler(refused: ServiceError) -> Handler:
    def refuse(request: PageRequest) -> Response:
        response = page(
            "refused.html",
            request,
            status=refused.status,
            why=refused,
            again=_fields_to_send_again(request, refused),
        )
        if refused.retry_after_s is not None:
            response.headers["retry-after"] = str(refused.retry_after_s)
        return response

    return refuse


def _fields_to_send_again(request: PageRequest, refused: ServiceError) -> dict[str, str]:
    """Returns the fields of a form that is to be done once, if nobody knows whether it was done.
    Whoever sends them again sends the same `once`, by which a repetition is known. A page that is
    asked for anew would have another one.
    """
    form = request.sent.form
    if refused.status < Unavailable.status or ONCE_FIELD not in form or request.sent.file:
        return {}
    return {name: value for name, value in form.items() if name != TOKEN_FIELD}


async def _lead_to_portal(http_request: Request) -> Response:
    return RedirectResponse("/portal", headers=HEADERS)


async def _static(http_request: Request) -> Response:
    found = static_file(http_request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found
