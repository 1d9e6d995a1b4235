"""Reads what a form of a page was filled in with, and keeps it while its user has to sign in first.

The browser keeps it, in a cookie that only the service can read. Nothing is stored here, and
nothing is done: the user sees the form again, and sends it or not.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from starlette.responses import Response

from heliograph.base.forms import quote_value
from heliograph.base.json import decode_object, encode
from heliograph.base.secrets import SecretUnreadable, decrypt, encrypt
from heliograph.base.short_texts import invalid_field
from heliograph.portal.cookies import set_cookie
from heliograph.portal.page_request import KEPT_COOKIE, ONCE_FIELD, TOKEN_FIELD, PageRequest
from heliograph.users import sign_ins

# as JSON has one, of no more digits than it can be read with
NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?", re.ASCII)
KEPT_MS: Final = 30 * 60_000  # enough to find a phone, or to wait for a mail with a link
KEPT_OCTETS_MAX: Final = 3_800  # a browser keeps 4,096 with the name and what stands beside it
PURPOSE: Final = "kept form"
SHOWN: Final = "shown_"  # how the names of fields begin that say what the form has shown
SHOWN_MAX: Final = 64  # characters of such a field; a longer value is known by its hash
# what proves who somebody is, or belongs to one page alone; never kept, not even encrypted
NEVER_KEPT: Final = frozenset(("password", "code", "answer", TOKEN_FIELD, ONCE_FIELD))

WAS_TYPED: Final = "password_typed"  # a password was, and has to be typed again


def body_of(request: PageRequest) -> dict[str, str]:
    """Returns the fields that were filled in, as a body of the API has them: a field that is left
    blank is not given. Spaces around a value are left out, and so are the fields that only the
    portal reads.
    """
    return {
        name: value.strip()
        for name, value in request.sent.form.items()
        if name not in (TOKEN_FIELD, ONCE_FIELD) and value.strip()
    }


def with_numbers(body: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """Returns a body in which these fields are numbers, as JSON has them. What is typed and is not
    a number stays as it is, for who reads the body to refuse it. Spaces between digits are left
    out.
    """
    numbers = {
        name: decode_object(f'{{"number": {digits}}}'.encode())["number"]
        for name in fields
        if name in body and NUMBER.fullmatch(digits := "".join(body[name].split()))
    }
    return {**body, **numbers}


def with_shown(stored: Mapping[str, str]) -> dict[str, str]:
    """Returns what a form is filled in with, and beside it what its hidden fields say that it has
    shown (`shown_fields` of components.html).
    """
    return {**stored, **{f"{SHOWN}{field}": _as_shown(value) for field, value in stored.items()}}


def left_as_shown(form: Mapping[str, str], fields: Iterable[str]) -> set[str]:
    """Returns which of these fields hold what the form has shown. Whoever has sent it did not
    change them, and somebody else may have done so meanwhile.
    """
    return {
        field for field in fields if form.get(f"{SHOWN}{field}") == _as_shown(form.get(field, ""))
    }


def kept_as_stored(form: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Returns the form, with what was left as it has shown it as that is stored now. `stored` is
    what the form would be filled in with. What is stored no more is left blank.
    """
    shown = [name.removeprefix(SHOWN) for name in form if name.startswith(SHOWN)]
    return {
        **{name: value for name, value in form.items() if not name.startswith(SHOWN)},
        **{field: stored.get(field, "") for field in left_as_shown(form, shown)},
    }


def _as_shown(value: str) -> str:
    lines = "\n".join(value.splitlines())  # browsers send other ends of lines than pages have
    return lines if len(lines) <= SHOWN_MAX else sha256(lines.encode()).hexdigest()


def choice_of(field: str, given: str, choices: Sequence[str]) -> str:
    """Returns what was chosen. Raises InvalidRequest for what is not a choice of the form."""
    if given not in choices:
        raise invalid_field(field, f"must be one of {', '.join(choices)}, not {quote_value(given)}")
    return given


def seal_form(request: PageRequest, user_id: str) -> str:
    """Returns what was typed, for a cookie that only this user (raw id) gets the form back from.
    It is empty if nothing was typed into the page that the browser showed, or too much to be kept.
    A form with a file is not kept: it has not been read.
    """
    page_path = request.page.partition("?")[0]
    fields = {name: value for name, value in request.sent.form.items() if name not in NEVER_KEPT}
    # the part of a page that is asked for while somebody types has an address below the page's
    # a button alone has nothing typed in it, and shall not replace what another tab has
    is_typed = bool(fields.keys() - {"do"})
    if not is_typed or not f"{request.url_path}/".startswith(f"{page_path}/"):
        return ""
    if request.sent.form.get("password"):
        fields[WAS_TYPED] = "yes"
    until_ms = request.now_ms + KEPT_MS
    content = encode(
        {"user": user_id, "page": request.page, "until_ms": until_ms, "fields": fields}
    )
    text = base64.b85encode(zlib.compress(content, 9)).decode()
    found = encrypt(request.service.secret_keys, PURPOSE, text)
    return found if len(found) <= KEPT_OCTETS_MAX else ""


def keep_form(response: Response, sealed_form: str) -> None:
    """Has the browser keep what `seal_form` has returned."""
    set_cookie(response, KEPT_COOKIE, sealed_form, kept_s=KEPT_MS // 1_000)


def seal_form_of_ended_session(request: PageRequest) -> str:
    """Returns what `seal_form` does for the user whose session has ended by itself. It is empty if
    nobody knows who that was: what a stranger types is shown to no user.
    """
    with request.db.read() as tx:
        user_id = sign_ins.user_of_ended(tx, request.session, now_ms=request.now_ms)
    return "" if user_id is None else seal_form(request, user_id)


def has_kept_form(request: PageRequest) -> bool:
    """Returns whether the browser keeps a form of the page that is asked for."""
    return _kept_form(request).get("page") == request.page


def refill(request: PageRequest, user_id: str) -> PageRequest:
    """Returns the request for a page as if its form had been typed into by now, if this user (raw
    id) had done so before he or she had to sign in; or else as it is.
    """
    filled = _kept_form(request)
    if (filled.get("user"), filled.get("page")) != (user_id, request.page):
        return request
    return request._replace(sent=request.sent._replace(form=filled["fields"]), is_refilled=True)


def _kept_form(request: PageRequest) -> Mapping[str, Any]:
    """Returns what the cookie of a browser says; nothing if there is no cookie, or its time is
    over.
    """
    if not request.kept_form or len(request.kept_form) > KEPT_OCTETS_MAX:
        return {}
    with suppress(SecretUnreadable):
        text = decrypt(request.service.secret_keys, PURPOSE, request.kept_form)
        filled = decode_object(zlib.decompress(base64.b85decode(text)))
        if request.now_ms < filled["until_ms"]:
            return filled
    return {}
