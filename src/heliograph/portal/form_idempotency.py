"""A form that is sent twice is done once, by a random value in it. This value is an
Idempotency-Key, on a path of the portal's own, so that no program's key meets it.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import Conflict, InvalidRequest
from heliograph.base.json import decode_object, encode
from heliograph.base.secrets import derived_key, keys_of
from heliograph.messages.accept import SendRequest
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import ONCE_FIELD, PageRequest
from heliograph.portal.rendering import DoneNotice, Redirect, redirect
from heliograph.portal.visit import Visit
from heliograph.requests import ApiResponse, ScopedKey, free_key, run_once, sha256_of_body
from heliograph.users import sign_ins

NOBODY: Final = "0" * 32  # has the forms of those who are not signed in
PATH_MAX: Final = 128  # characters of a path that are stored
CHANGED: Final = "This form was sent before, with something else in it. Load its page again."
INCOMPLETE: Final = "This form is not complete. Load its page again, and fill it in there."


def run_form_once(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    path: str,
    *,
    sandbox: bool,
    effect: Callable[[Connection], ApiResponse],
    is_always_done: bool = False,
) -> ApiResponse:
    """Returns what `effect` answers, or has answered when this form was sent before. `path` is the
    portal's own. If `is_always_done` holds, it is done even if no more responses are stored today;
    then the form is not known again. Raises InvalidRequest, Conflict for a form that was changed
    since.
    """
    scoped_key = _key_within_account(request, visit, path, sandbox)
    try:
        return run_once(tx, scoped_key, _form_digest(request), effect, is_opt_out=is_always_done)
    except Conflict as error:
        raise conflict_in_words(error, CHANGED) from error


def run_path_form_once(
    tx: Connection, request: PageRequest, visit: Visit, effect: Callable[[Connection], ApiResponse]
) -> ApiResponse:
    """Does what `run_form_once` does for the form of the path that is asked, which is always done:
    nobody is kept from removing a member because the API has answered much today.
    """
    path = f"POST /portal{request.url_path.removeprefix(visit.home)}"
    sandbox = visit.account.sandbox
    return run_form_once(
        tx, request, visit, path, sandbox=sandbox, effect=effect, is_always_done=True
    )


def run_user_form_once(
    tx: Connection, request: PageRequest, user_id: str, effect: Callable[[Connection], ApiResponse]
) -> ApiResponse:
    """Does what `run_form_once` does for a form of no account: a user's (raw id), or NOBODY's.
    Raises Conflict for a form that was sent before with other fields.
    """
    scoped_key = _key_of_user(request, user_id)
    try:
        return run_once(tx, scoped_key, _form_digest(request), effect, is_counted=False)
    except Conflict as error:
        raise conflict_in_words(error, CHANGED) from error


class _SignedIn(Protocol):
    @property
    def session(self) -> sign_ins.Session: ...


V = TypeVar("V", bound=_SignedIn)


def redirect_once(
    do: Callable[[Connection, PageRequest, Visit], Response],
) -> Callable[[Connection, PageRequest, Visit], Response]:
    """Returns a handler that does once what `do` does, which leads to another page. Whoever sends a
    form twice is led there twice: a browser follows only the second response.
    """

    def handle(tx: Connection, request: PageRequest, visit: Visit) -> Response:
        def effect(tx: Connection) -> ApiResponse:
            return _response_of(do(tx, request, visit))

        return _redirect_of(run_path_form_once(tx, request, visit, effect))

    return handle


def redirect_user_once(
    do: Callable[[Connection, PageRequest, V], Response],
) -> Callable[[Connection, PageRequest, V], Response]:
    """Returns a handler like that of `redirect_once`, for a form of a user that is of no account.
    If `do` shows a page instead of leading to one, the form is not known again.
    """

    def handle(tx: Connection, request: PageRequest, visit: V) -> Response:
        responses: list[Response] = []
        user_id = visit.session.user.id

        def effect(tx: Connection) -> ApiResponse:
            done = do(tx, request, visit)
            if isinstance(done, Redirect):
                return _response_of(done)
            responses.append(done)
            return ApiResponse({})

        response = run_user_form_once(tx, request, user_id, effect)
        if not responses:
            return _redirect_of(response)
        free_key(tx, _key_of_user(request, user_id))
        return responses[0]

    return handle


def _response_of(led: Response) -> ApiResponse:
    """Returns where a form has led and what it said, to be stored."""
    assert isinstance(led, Redirect), "what a form that is done once has done leads on"
    return ApiResponse({"to": led.path, "said": led.notice})


def _redirect_of(response: ApiResponse) -> Redirect:
    record = record_of(response)
    return redirect(record["to"], DoneNotice(record["said"]) if record["said"] else None)


def record_of(response: ApiResponse) -> dict[str, Any]:
    """Returns what an effect has answered, now or when the form was sent before."""
    assert response.raw is not None
    return decode_object(response.raw)


def random_of(request: PageRequest, visit: Visit, purpose: str) -> bytes:
    """Returns 32 octets that are the same each time that this form is sent, and known to nobody who
    has not both the form and the service's secret key. What is made of them can be shown again and
    need not be stored. Raises InvalidRequest.
    """
    return _random_of(request, f"{visit.account.id} {_of_session(visit.session)}", purpose)


def random_of_user(request: PageRequest, session: sign_ins.Session, purpose: str) -> bytes:
    """Returns what `random_of` does, for a form of a user that belongs to no account. Raises
    InvalidRequest.
    """
    return _random_of(request, f"{session.user.id} {_of_session(session)}", purpose)


def _of_session(session: sign_ins.Session) -> str:
    """Returns what a session keeps also when it gets another secret, and so another id."""
    return f"{session.user.id} {session.began_at_ms}"


def _random_of(request: PageRequest, whose: str, purpose: str) -> bytes:
    secret = derived_key(keys_of(request.service.secret_keys)[0], purpose)
    message = f"{whose} {once_value_of(request)}".encode()
    return hmac.new(secret, message, hashlib.sha256).digest()


def send_once(request: PageRequest, send_request: SendRequest, path: str) -> None:
    """Sees to it that a form whose send goes to the acceptor is sent once. `path` is the portal's
    own. Raises InvalidRequest. The acceptor then raises Conflict for a form that was changed since:
    `conflict_in_words` says so.
    """
    send_request.idempotency_key = _key_of(request)
    send_request.body_sha256 = sha256_of_body(_form_digest(request))
    send_request.path = path


def conflict_in_words(error: Conflict, words: str) -> Conflict:
    """Returns the error in these words if it says that this form was sent before, with something
    else in it; or else as it is.
    """
    return Conflict(words) if error.reason == Conflict.reason else error


def forget_once(
    tx: Connection, request: PageRequest, visit: Visit, path: str, *, sandbox: bool
) -> None:
    """Forgets that a form was sent, because what it began was undone in a later transaction."""
    free_key(tx, _key_within_account(request, visit, path, sandbox))


def once_value_of(request: PageRequest) -> str:
    """Returns the random value of the form that was sent. Raises InvalidRequest."""
    value = request.sent.form.get(ONCE_FIELD, "").strip()
    if not value:
        # at no field: this one is not shown, so its name would tell nobody anything
        raise InvalidRequest(INCOMPLETE)
    return value


def _key_within_account(request: PageRequest, visit: Visit, path: str, sandbox: bool) -> ScopedKey:
    return ScopedKey(visit.account.id, sandbox, path, _key_of(request))


def _key_of_user(request: PageRequest, user_id: str) -> ScopedKey:
    return ScopedKey(user_id, False, f"POST {request.url_path}"[:PATH_MAX], _key_of(request))


def _key_of(request: PageRequest) -> str:
    return hashlib.sha256(once_value_of(request).encode()).hexdigest()


def _form_digest(request: PageRequest) -> bytes:
    """Returns what the form says, to know an equal one by."""
    fields = body_of(request)
    for number, file in enumerate(request.sent.files):
        fields[f"file {number}"] = hashlib.sha256(file.content).hexdigest()
    return encode(fields)
