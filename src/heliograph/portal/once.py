"""A form that is sent twice is done once, by a random value in it. This value is an
Idempotency-Key, on a path of the portal's own, so that no program's key meets it.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import Connection

from heliograph.base.errors import Conflict, InvalidRequest, Unavailable
from heliograph.base.json import encode
from heliograph.messages.accept import SendRequest
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import ONCE_FIELD, PageRequest
from heliograph.portal.visit import Visit
from heliograph.requests import Answer, KeyPlace, free_key, run_once, sha256_of_body

ONCE_OCTETS: Final = 16  # so that no two forms are one
CHANGED: Final = "This form was sent before, with something else in it. Load its page again."
INCOMPLETE: Final = "This form is not complete. Load its page again, and fill it in there."


def new_once() -> str:
    """Returns the random value of a new form."""
    return secrets.token_urlsafe(ONCE_OCTETS)


def once_after(asking: PageRequest, status: int) -> str:
    """Returns the value of a form that is shown with an answer of this status. It is the same as
    before if nobody knows whether the form was done; then the next try is the same operation.
    """
    if status >= Unavailable.status and ONCE_FIELD in asking.sent.form:
        return once_of(asking)
    return new_once()


def once(
    tx: Connection,
    asking: PageRequest,
    visit: Visit,
    path: str,
    *,
    sandbox: bool,
    effect: Callable[[Connection], Answer],
) -> Answer:
    """Returns what `effect` answers, or has answered when this form was sent before. `path` is the
    portal's own. Raises InvalidRequest, Conflict for a form that was changed since.
    """
    try:
        return run_once(tx, _place(asking, visit, path, sandbox), _said(asking), effect)
    except Conflict as error:
        raise changed_since(error, CHANGED) from error


def send_once(asking: PageRequest, request: SendRequest, path: str) -> None:
    """Sees to it that a form whose send goes to the acceptor is sent once. `path` is the portal's
    own. Raises InvalidRequest. The acceptor then raises Conflict for a form that was changed since:
    `changed_since` says so.
    """
    request.idempotency_key = _key_of(asking)
    request.body_sha256 = sha256_of_body(_said(asking))
    request.path = path


def changed_since(error: Conflict, words: str) -> Conflict:
    """Returns the error in these words if it says that this form was sent before, with something
    else in it; or else as it is.
    """
    return Conflict(words) if error.reason == Conflict.reason else error


def forget_once(
    tx: Connection, asking: PageRequest, visit: Visit, path: str, *, sandbox: bool
) -> None:
    """Forgets that a form was sent, because what it began was undone in a later transaction."""
    free_key(tx, _place(asking, visit, path, sandbox))


def once_of(asking: PageRequest) -> str:
    """Returns the random value of the form that was sent. Raises InvalidRequest."""
    value = asking.sent.form.get(ONCE_FIELD, "").strip()
    if not value:
        # at no field: this one is not shown, so its name would tell nobody anything
        raise InvalidRequest(INCOMPLETE)
    return value


def _place(asking: PageRequest, visit: Visit, path: str, sandbox: bool) -> KeyPlace:
    return KeyPlace(visit.account.id, sandbox, path, _key_of(asking))


def _key_of(asking: PageRequest) -> str:
    return hashlib.sha256(once_of(asking).encode()).hexdigest()


def _said(asking: PageRequest) -> bytes:
    """Returns what the form says, to know an equal one by."""
    said = body_of(asking)
    if asking.sent.file:
        said["file"] = hashlib.sha256(asking.sent.file).hexdigest()
    return encode(said)
