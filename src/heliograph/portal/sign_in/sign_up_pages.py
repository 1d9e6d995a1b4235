"""People sign up here: whoever wants an account gives an address, and the link that is mailed to it
makes the account. Whether the address is a user's already, only the mail says.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar
from unicodedata import normalize

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users, wallet
from heliograph.accounts import account_fields
from heliograph.base.errors import FieldError, InvalidRequest, NotFound, RateLimited
from heliograph.portal import languages
from heliograph.portal.filled_form import body_of
from heliograph.portal.form_idempotency import NOBODY, run_user_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.sign_in.finish_sign_in import continue_sign_in
from heliograph.portal.visit import home_of
from heliograph.requests import ApiResponse
from heliograph.text import country_codes
from heliograph.users import Role, password_tries, sign_ins, sign_ups
from heliograph.users.password_tries import Guesser
from heliograph.users.sign_ups import SignUp
from heliograph.wallet import money

PATH: Final = "/portal/sign-up"
T = TypeVar("T")


class Country(NamedTuple):
    code: str
    name: str


def show_form(
    request: PageRequest, errors: Sequence[FieldError] = (), status: int = 200
) -> Response:
    """Shows the form for an account."""
    _require_open(request)
    return page(
        "sign_up.html",
        request,
        status=status,
        typed=body_of(request),
        countries=_countries(languages.language()),
        errors={error.field: error.message for error in errors},
    )


def request_link(request: PageRequest) -> Response:
    """Has a link mailed that makes the account."""
    _require_open(request)
    try:
        wanted = _read(body_of(request))
        with request.db.write() as tx:
            run_user_form_once(tx, request, NOBODY, lambda tx: _mail_link(tx, request, wanted))
    except InvalidRequest as refused:
        return show_form(request, refused.fields, refused.status)
    except RateLimited as refused:
        return show_form(request, [FieldError("email", str(refused))], refused.status)
    return page("sign_up_mailed.html", request, email=wanted.email)


def _mail_link(tx: Connection, request: PageRequest, wanted: SignUp) -> ApiResponse:
    """Has the link mailed. Raises RateLimited."""
    guesser = Guesser(wanted.email, request.address, request.browser)
    password_tries.count_sign_up(tx, guesser, now_ms=request.now_ms)
    sign_ups.ask(tx, wanted, now_ms=request.now_ms, language=languages.language())
    return ApiResponse({})


def show_confirmation(request: PageRequest) -> Response:
    """Shows what the link makes, and a button that makes it. Raises NotFound where sign-up was
    closed after the link was mailed.
    """
    _require_open(request)
    try:
        with request.db.read() as tx:
            wanted = sign_ups.with_link(tx, request.path["link"], now_ms=request.now_ms)
    except sign_ins.NotSignedIn as refused:
        return page("link_used.html", request, status=refused.status)
    return page("sign_up_confirm.html", request, link=request.path["link"], wanted=wanted)


def make_account(request: PageRequest) -> Response:
    """Makes the account and its owner, signs in, and leads to the account's overview. Raises
    NotFound where sign-up was closed after the link was mailed.
    """
    _require_open(request)
    try:
        with request.db.write() as tx:
            wanted = sign_ups.use(tx, request.path["link"], now_ms=request.now_ms)
            begun, home = _make_account(tx, request, wanted)
    except sign_ins.NotSignedIn as refused:
        return page("link_used.html", request, status=refused.status)
    return continue_sign_in(begun, home)


def _make_account(
    tx: Connection, request: PageRequest, wanted: SignUp
) -> tuple[sign_ins.SignIn, str]:
    """Returns the owner's sign-in, and the path of the new account, which is in sandbox only."""
    now_ms = request.now_ms
    account = accounts.create(tx, wanted.company, wanted.country_code, sandbox=True, now_ms=now_ms)
    wallet.open_wallet(tx, account.id, wanted.currency)
    user = users.add(tx, wanted.email, now_ms=now_ms)
    users.set_role(tx, user.id, account.id, Role.OWNER, now_ms=now_ms)
    begun = sign_ins.begin_for(tx, user.id, seen_by=request.user_agent, now_ms=now_ms)
    if not begun.waits:
        sign_ins.end_session(tx, request.session)
    return begun, home_of(account)


def _read(body: dict[str, str]) -> SignUp:
    """Returns what the form says. Raises InvalidRequest with all that is wrong."""
    wrong: list[FieldError] = []

    def read(field: str, reads: Callable[[str], T], otherwise: T) -> T:
        try:
            return reads(body.get(field, ""))
        except InvalidRequest as refused:
            wrong.extend(FieldError(field, error.message) for error in refused.fields)
            return otherwise

    company = read("company", lambda text: account_fields.read_name("company", text), "")
    email = read("email", users.read_email, "")
    country = read("country", lambda code: account_fields.known_country("country", code), "")
    own = money.currency_of(country)
    if "currency" in body or (country and own is None):
        own = read("currency", money.currency, "")
    if wrong:
        raise InvalidRequest("The form has wrong fields.", fields=wrong)
    return SignUp(email, company, country, own or "")


@cache
def _countries(language: str) -> tuple[Country, ...]:
    """Returns the countries by their names in a language."""
    from babel.core import Locale  # it reads a long file

    names = Locale(language).territories
    found = [Country(code, names.get(code, code)) for code in country_codes()]
    if language == languages.USUAL:
        return tuple(sorted(found, key=lambda country: country.name))
    # É stands beside E, as in a dictionary
    return tuple(sorted(found, key=lambda country: normalize("NFKD", country.name).casefold()))


def _require_open(request: PageRequest) -> None:
    if not request.service.takes_sign_ups:
        raise NotFound("Nobody signs up at this service. Ask whoever runs it for an account.")
