"""Leads each path of the portal to its page."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from sqlalchemy.engine import Connection
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from heliograph import users
from heliograph.base import cancelling, clock
from heliograph.base.errors import (
    FieldError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    ServiceError,
)
from heliograph.base.own_threads import OwnThreads
from heliograph.base.periodic import repeat
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor
from heliograph.portal import (
    api_keys,
    handsets,
    members,
    messages,
    money,
    overview,
    send,
    senders,
    sign_in_pages,
    webhooks,
    you,
)
from heliograph.portal.cookies import set_cookie
from heliograph.portal.mailer import Mailer, mailer_for
from heliograph.portal.page_request import (
    BROWSER_COOKIE,
    FORM_COOKIE,
    NOTHING_SENT,
    SESSION_COOKIE,
    ClientOf,
    PageRequest,
    Sent,
    Service,
    new_form_secret,
    page_of,
    read_form,
    read_query,
    require_ours,
)
from heliograph.portal.rendering import HEADERS, page, static_file
from heliograph.portal.visit import NotFresh, Visit, visit_of
from heliograph.users import NotSignedIn, Right
from heliograph.webhooks.http.address_guard import allowed_networks

# Pages wait for each other, and not the API for pages: they have connections of the database, too.
PAGES_AT_ONCE: Final = 4
MAIL_EVERY_S: Final = 1.0
ROOTS: Final = ("/", "/portal")
OF_ACCOUNT: Final = "/portal/accounts/{account}"
ENDPOINT: Final = f"{OF_ACCOUNT}/webhooks/{{endpoint}}"
Handler = Callable[[PageRequest], Response]
MembersPage = Callable[[Connection, PageRequest, Visit], Response]
# shows a page again whose form was refused
FormPage = Callable[[Connection, PageRequest, Visit, Sequence[FieldError]], Response]


class Portal:
    """The pages, as an ASGI application. `is_mine` says which paths are its own."""

    def __init__(self, service: Service, mailer: Mailer | None = None) -> None:
        self._service = service._replace(sends_mail=mailer is not None)
        self._mailer = mailer
        self._mailing: asyncio.Task[NoReturn] | None = None
        self._threads = OwnThreads("portal", PAGES_AT_ONCE)
        self._app = Starlette(
            routes=[
                Route("/", _home),
                Route("/portal/static/{name}", _static),
                self._shows("/portal", to_members(overview.overview)),
                self._shows(OF_ACCOUNT, to_members(overview.overview)),
                self._shows(f"{OF_ACCOUNT}/send", to_members(send.form)),
                self._does(f"{OF_ACCOUNT}/send", send.send),
                self._does(f"{OF_ACCOUNT}/send/count", send.count),
                self._shows(f"{OF_ACCOUNT}/messages", to_members(messages.log)),
                self._shows(f"{OF_ACCOUNT}/messages/{{message}}", to_members(messages.one)),
                self._shows(f"{OF_ACCOUNT}/handsets", to_members(handsets.handsets)),
                self._shows(f"{OF_ACCOUNT}/handsets/list", to_members(handsets.listed)),
                self._shows(f"{OF_ACCOUNT}/handsets/{{phone}}", to_members(handsets.one)),
                self._shows(f"{OF_ACCOUNT}/handsets/{{phone}}/texts", to_members(handsets.texts)),
                self._shows(f"{OF_ACCOUNT}/senders", to_members(senders.listed)),
                self._does(
                    f"{OF_ACCOUNT}/senders",
                    by_members(Right.SENDERS, senders.register, senders.listed),
                ),
                self._shows(f"{OF_ACCOUNT}/money", to_members(money.ledger)),
                self._shows(f"{OF_ACCOUNT}/keys", to_members(api_keys.listed)),
                self._shows(f"{OF_ACCOUNT}/keys/new", to_members(api_keys.new)),
                self._does(
                    f"{OF_ACCOUNT}/keys/new", by_members(Right.KEYS, api_keys.make, api_keys.new)
                ),
                self._shows(f"{OF_ACCOUNT}/keys/{{key}}/revoke", to_members(api_keys.ask_revoke)),
                self._does(
                    f"{OF_ACCOUNT}/keys/{{key}}/revoke",
                    by_members(Right.KEYS, api_keys.revoke, api_keys.new),
                ),
                self._shows(f"{OF_ACCOUNT}/webhooks", to_members(webhooks.listed)),
                self._shows(f"{OF_ACCOUNT}/webhooks/new", to_members(webhooks.new)),
                self._does(
                    f"{OF_ACCOUNT}/webhooks/new",
                    by_members(Right.WEBHOOKS, webhooks.add, webhooks.new),
                ),
                self._shows(ENDPOINT, to_members(webhooks.one)),
                self._does(ENDPOINT, by_members(Right.WEBHOOKS, webhooks.change, webhooks.one)),
                self._does(
                    f"{ENDPOINT}/secret",
                    by_members(Right.WEBHOOKS, webhooks.reveal, webhooks.one),
                ),
                self._does(f"{ENDPOINT}/test", webhooks.test),
                self._shows(f"{OF_ACCOUNT}/members", to_members(members.listed)),
                self._does(
                    f"{OF_ACCOUNT}/members",
                    by_members(Right.MEMBERS, members.change, members.listed),
                ),
                self._shows(you.PATH, to_members(you.shown)),
                self._does(f"{you.PATH}/password", you.set_password),
                self._does(f"{you.PATH}/sessions", by_members(None, you.end_session, you.shown)),
                self._shows("/portal/sign-in", sign_in_pages.ask_password),
                self._does("/portal/sign-in", sign_in_pages.with_password),
                self._does("/portal/sign-in/mail", sign_in_pages.mail_link),
                self._shows("/portal/invitation/{link}", sign_in_pages.invited),
                self._does("/portal/invitation/{link}", sign_in_pages.accept_invitation),
                self._shows("/portal/sign-in/{link}", sign_in_pages.ask),
                self._does("/portal/sign-in/{link}", sign_in_pages.sign_in),
                self._does("/portal/sign-out", sign_in_pages.sign_out),
            ],
            exception_handlers={HTTPException: self._no_such_page},
        )

    @staticmethod
    def is_mine(path: str) -> bool:
        return path in ROOTS or path.startswith("/portal/")

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
                repeat(self._mailer.once, wait=MAIL_EVERY_S, fault="mails_not_looked_for")
            )

    async def close(self) -> None:
        if self._mailing is not None:
            await cancelling.end(self._mailing)
        await self._threads.close()

    def _shows(self, path: str, handler: Handler) -> Route:
        async def show(request: Request) -> Response:
            try:
                sent = Sent(query=read_query(request))
            except ServiceError as refused:
                return await self._answer(request, _refusing(refused), NOTHING_SENT)
            return await self._answer(request, handler, sent)

        return Route(path, show, methods=["GET"])

    def _does(self, path: str, handler: Handler) -> Route:
        async def do(request: Request) -> Response:
            try:
                sent = Sent(form=await read_form(request))
                require_ours(request, self._asking(request, sent))
            except ServiceError as refused:
                return await self._answer(request, _refusing(refused), NOTHING_SENT)
            return await self._answer(request, handler, sent)

        return Route(path, do, methods=["POST"])

    async def _answer(self, request: Request, handler: Handler, sent: Sent) -> Response:
        asking = self._asking(request, sent)
        response = await self._threads.run(lambda: _answered(handler, asking))
        if FORM_COOKIE not in request.cookies and "set-cookie" not in response.headers:
            set_cookie(response, FORM_COOKIE, asking.form_secret)
        return response

    def _asking(self, request: Request, sent: Sent) -> PageRequest:
        return PageRequest(
            self._service,
            clock.now_ms(),
            session=request.cookies.get(SESSION_COOKIE, ""),
            form_secret=request.cookies.get(FORM_COOKIE) or new_form_secret(),
            path=request.path_params,
            sent=sent,
            page=page_of(request),
            browser=request.cookies.get(BROWSER_COOKIE, ""),
            address=str(self._service.client_of(request.scope) or ""),
            loop=asyncio.get_running_loop(),
            seen_by=request.headers.get("user-agent", ""),
        )

    async def _no_such_page(self, request: Request, error: Any) -> Response:
        refused: ServiceError = NotFound("There is no such page.")
        if error.status_code == MethodNotAllowed.status:
            refused = MethodNotAllowed([], "This page does not take that method.")
        response = await self._answer(request, _refusing(refused), NOTHING_SENT)
        response.headers.update(error.headers or {})  # Allow, with 405
        return response


def to_members(show: MembersPage) -> Handler:
    """Returns a handler that shows a page to whoever is signed in and a member of the account.
    What it shows is of one moment. That the session is in use is written down when it is time.
    """

    def handle(asking: PageRequest) -> Response:
        with asking.db.read() as tx:
            visit = visit_of(tx, asking)
            response = show(tx, asking, visit)
        if visit.session.is_to_be_seen(asking.now_ms):
            with asking.db.write() as tx:
                users.see(tx, asking.session, now_ms=asking.now_ms)
        return response

    return handle


def by_members(right: Right | None, do: MembersPage, show: FormPage) -> Handler:
    """Returns a handler for a form of members who have this right; None: of all of them. It does
    all in one transaction.
    If the form is refused, nothing is done, and the page is shown again with what is wrong.
    """

    def handle(asking: PageRequest) -> Response:
        try:
            with asking.db.write() as tx:
                visit = visit_of(tx, asking)
                if right is not None:
                    visit.require(tx, right)
                return do(tx, asking, visit)
        except InvalidRequest as refused:
            with asking.db.read() as tx:
                return show(tx, asking, visit_of(tx, asking), refused.fields)

    return handle


def portal_for(
    settings: Settings, db: Database, client_of: ClientOf, acceptor: Acceptor
) -> Portal | None:
    """Returns the portal, or None where the settings want none (HELIOGRAPH_PORTAL=off).
    `client_of` finds the address of a request's client. Raises SettingError.
    """
    if not settings.portal:
        return None
    return Portal(
        Service(
            db,
            settings.secret_keys,
            acceptor,
            service_sender=settings.otp_sender,
            webhook_networks=allowed_networks(settings),
            client_of=client_of,
        ),
        mailer_for(settings, db),
    )


def _answered(handler: Handler, asking: PageRequest) -> Response:
    """Returns what a handler answers, or a page that says why there is no answer."""
    try:
        return handler(asking)
    except NotSignedIn:
        return sign_in_pages.signed_out(asking)
    except NotFresh:
        return sign_in_pages.confirm(asking)
    except ServiceError as refused:
        return _refusing(refused)(asking)


def _refusing(refused: ServiceError) -> Handler:
    return lambda asking: page("refused.html", asking, status=refused.status, why=str(refused))


async def _home(request: Request) -> Response:
    return RedirectResponse("/portal", headers=HEADERS)


async def _static(request: Request) -> Response:
    found = static_file(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found
