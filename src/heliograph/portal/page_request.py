"""Reads what a page is asked: who asks, what a form says, and whether the form is one of ours."""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.types import Scope

from heliograph.base.errors import Forbidden, InvalidRequest, PayloadTooLarge, Unavailable
from heliograph.base.mail.deliver_mail import DEVELOPMENT_URL
from heliograph.base.secrets import Keys
from heliograph.base.settings import Settings
from heliograph.base.short_texts import printable
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor
from heliograph.users.passkeys import PasskeySite
from heliograph.webhooks.http.address_guard import CLOSED, AllowedNetworks

# a contact with all that it may have, in letters of which each takes 12 octets in a form
FORM_OCTETS_MAX: Final = 512 * 1_024
FIELDS_MAX: Final = 120  # a hundred rows of a list, each with a box, and what is done to them
# A browser keeps a cookie of this prefix only from this host, over HTTPS (RFC 6265bis, 4.1.3.2).
SESSION_COOKIE: Final = "__Host-heliograph"
BROWSER_COOKIE: Final = "__Host-heliograph-browser"
FORM_COOKIE: Final = "__Host-heliograph-form"
WAITING_COOKIE: Final = "__Host-heliograph-waiting"
BACK_COOKIE: Final = "__Host-heliograph-back"
DONE_COOKIE: Final = "__Host-heliograph-said"
LANGUAGE_COOKIE: Final = "__Host-heliograph-language"
KEPT_COOKIE: Final = "__Host-heliograph-kept"
SHOWN_HEADER: Final = "heliograph-shown"  # what the live part of a page is made of (`portal.js`)
TOKEN_FIELD: Final = "form_token"  # noqa: S105  a name
ONCE_FIELD: Final = "once"  # the random value of a form that is done once, however often it is sent
OF_ONE_REQUEST: Final = (ONCE_FIELD, "visit")  # values of a page that are others at each request
HOME: Final = "/portal"
YOU: Final = "/portal/you"
CONSOLE: Final = "/console"
PAGES_BELOW: Final = ("/portal/", "/console/")
PATH_MAX: Final = 2_000
HOST: Final = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")
NEAR: Final = ("localhost", "127.0.0.1", "::1")
AWAITED_S: Final = 30
_COOKIE_OCTETS: Final = 32
_ONCE_OCTETS: Final = 16  # so that no two forms are one

T = TypeVar("T")


class ForeignForm(Forbidden):
    """This form does not come from this site, or is too old. Load the page again."""

    reason = "foreign_form"


class SentFile(NamedTuple):
    """Holds a file of a form, with the name that the browser gives it."""

    name: str
    content: bytes


class SentFields(NamedTuple):
    """Holds what a request says: the parameters of its query, or the fields of its form and the
    files in it.
    """

    query: Sequence[tuple[str, str]] = ()
    form: Mapping[str, str] = MappingProxyType({})
    files: Sequence[SentFile] = ()

    @property
    def all_fields(self) -> dict[str, str]:
        """Returns the parameters of the query and the fields of the form. A field that both have is
        the form's.
        """
        return {**dict(self.query), **self.form}

    @property
    def file(self) -> bytes:
        """Returns the content of the only file, which is empty if there is none."""
        return self.files[0].content if self.files else b""

    @property
    def file_name(self) -> str:
        return self.files[0].name if self.files else ""


NOTHING_SENT: Final = SentFields()


# returns the address of a request's client, if it is known
ClientOf = Callable[[Scope], object | None]


class Service(NamedTuple):
    """Holds what pages use of the service. `acceptor` accepts sends. `service_sender` is what
    one-time passwords come from, which no account may register. `secret_keys` encrypt secrets.
    Webhooks may be sent to `webhook_networks` beside the public internet. `passkey_site` is what
    passkeys are made for; it is None if there are none. `portal_url` is the address where members
    sign in, or None where it is that of the request. `console_link` leads to the console, if
    operators find it here or at an address that is known.
    """

    db: Database
    secret_keys: Keys
    acceptor: Acceptor
    service_sender: str = Settings.otp_sender
    webhook_networks: AllowedNetworks = CLOSED
    client_of: ClientOf = lambda _: None
    sends_mail: bool = False
    takes_sign_ups: bool = False
    passkey_site: PasskeySite | None = None
    base_url: str | None = None  # HELIOGRAPH_BASE_URL
    portal_url: str | None = None
    console_link: str | None = CONSOLE
    shows_components: bool = False


class PageRequest(NamedTuple):
    """Holds one request for a page.

    `site` is the address of this service, such as `https://sms.example.com`. `session` is the
    secret of the visitor's session, or empty; `waiting_sign_in` is that of a sign-in that waits for
    a code. `form_secret` is what the tokens of this visitor's forms are made of. `page` is the path
    of the page that is asked for, or that a form was filled in at, with its query; `url_path` is
    the path of this request itself. `browser` is the secret of a browser that users have signed in
    with, or empty. `address` is the client's, or empty if it is not known. `loop` is the server's
    event loop. `language` is what the browser has chosen, or else prefers; a user's own choice
    comes before it (`visit_of`). `return_path` is the page that a mailed link leads to in this
    browser, or empty. `done_notice` is the name of what was done just before, which the page says
    once. `shown_hash` is the hash of what the browser shows already, if a live part of a page asks
    for itself (`rendering.page`). `kept_form` is what was typed into a form whose user had to sign
    in (`filled_form`); with `is_refilled`, `sent` has that form. `visit_of` returns the visit of
    somebody who looks at the pages of an account that is not his or her own, or None: then the
    visitor is a member, or acts for a customer.
    """

    service: Service
    now_ms: int
    session: str
    waiting_sign_in: str
    form_secret: str
    path: Mapping[str, str]
    sent: SentFields
    page: str
    browser: str
    address: str
    user_agent: str
    loop: asyncio.AbstractEventLoop
    site: str
    language: str
    return_path: str = ""
    done_notice: str = ""
    shown_hash: str = ""
    url_path: str = ""
    kept_form: str = ""
    is_refilled: bool = False
    visit_of: Callable[[Connection, Any], Any] | None = None

    @property
    def db(self) -> Database:
        return self.service.db

    @property
    def page_of_form(self) -> str:
        """Returns the page of the form that was sent, or its own path if the browser does not say
        which page that is; nothing if no form was sent. A page that is refilled is its own.
        """
        if not self.sent.form:
            return ""
        return self.url_path if self.page == HOME else self.page

    def run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what `work` returns, which is done in the server's event loop. Pages are made in
        threads. Raises Unavailable after a while.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop).result(AWAITED_S)
        except TimeoutError as error:
            raise Unavailable("This took too long. Look whether it was done.") from error

    @staticmethod
    def in_thread(work: Callable[[], T], /) -> Awaitable[T]:
        """Runs blocking work for what is awaited in the server's event loop."""
        return asyncio.to_thread(work)

    @property
    def form_token(self) -> str:
        """Returns what a form of ours carries in TOKEN_FIELD for this visitor."""
        return hmac.new(self.form_secret.encode(), b"form", hashlib.sha256).hexdigest()

    def once_after(self, status: int) -> str:
        """Returns the random value of the forms of a page that is shown with this status. It is the
        same as before if nobody knows whether the form was done; then the next try is the same
        operation.
        """
        if status >= Unavailable.status and ONCE_FIELD in self.sent.form:
            return self.sent.form[ONCE_FIELD].strip()
        return secrets.token_urlsafe(_ONCE_OCTETS)


def site_of(http_request: Request) -> str:
    """Returns the address that a browser knows this service by. Sessions come over HTTPS, or from
    the machine itself, so what a proxy in front speaks does not matter.
    """
    host = http_request.headers.get("host", "")
    if not HOST.fullmatch(host):
        return DEVELOPMENT_URL
    is_near = http_request.url.hostname in NEAR
    return f"{'http' if is_near else 'https'}://{host}"


def page_of(http_request: Request) -> str:
    """Returns the page that a request asks for, or whose form it sends, as its browser says."""
    if http_request.method == "GET":
        return path_of_page(f"{http_request.url.path}?{http_request.url.query}".rstrip("?"))
    before = _split(http_request.headers.get("referer", ""))
    is_ours = before.netloc == http_request.headers.get("host")
    return path_of_page(f"{before.path}?{before.query}".rstrip("?") if is_ours else "")


def path_of_page(text: str) -> str:
    """Returns the path of a page of the portal or the console, with its query, as it is; anything
    else, which could lead to another site, is the overview.
    """
    is_page = text.isascii() and text.isprintable() and len(text) <= PATH_MAX and "\\" not in text
    return text if is_page and (text == CONSOLE or text.startswith(PAGES_BELOW)) else HOME


def new_form_secret() -> str:
    """Returns a value for FORM_COOKIE."""
    return secrets.token_urlsafe(_COOKIE_OCTETS)


def read_query(http_request: Request) -> list[tuple[str, str]]:
    """Returns the parameters of a query. Raises InvalidRequest."""
    return _fields_of(http_request.url.query, "query")


async def read_form(http_request: Request) -> dict[str, str]:
    """Returns the fields of a form. Of a field that comes twice, the last counts.

    Raises PayloadTooLarge and InvalidRequest.
    """
    body = bytearray()
    async for part in http_request.stream():
        body += part
        if len(body) > FORM_OCTETS_MAX:
            raise PayloadTooLarge(f"A form may have {FORM_OCTETS_MAX} octets.")
    try:
        return dict(_fields_of(body.decode(), "form"))
    except UnicodeDecodeError as error:
        raise InvalidRequest("The form cannot be read.") from error


def _fields_of(text: str, of: str) -> list[tuple[str, str]]:
    """Returns the fields of a query or a form, none of which has NUL, which the API refuses, too.
    Raises InvalidRequest.
    """
    try:
        fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise InvalidRequest(f"The {of} cannot be read.") from error
    for name, value in fields:
        if "\0" in name + value:
            raise InvalidRequest(f"The field {printable(name)} has the character NUL (U+0000).")
    return fields


def require_ours(http_request: Request, request: PageRequest) -> None:
    """Raises ForeignForm unless the form comes from a page of this site and carries its token."""
    require_this_site(http_request)
    token = request.sent.form.get(TOKEN_FIELD, "")
    if not request.form_secret or not hmac.compare_digest(
        token.encode(), request.form_token.encode()
    ):
        raise ForeignForm()


def require_this_site(http_request: Request) -> None:
    """Raises ForeignForm for a request that a page of another site has made."""
    site = http_request.headers.get("sec-fetch-site", "same-origin")
    origin = http_request.headers.get("origin")
    if site not in ("same-origin", "none") or (
        origin is not None and _split(origin).netloc != http_request.headers.get("host")
    ):
        raise ForeignForm()


def _split(url: str) -> SplitResult:
    """Returns the parts of a URL that a browser has sent; they are empty if it is no URL."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
