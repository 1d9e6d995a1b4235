"""A form that is sent twice is done once, by a random value in it."""

import hashlib
import secrets
from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import Connection

from heliograph.base.errors import Conflict
from heliograph.base.json import encode
from heliograph.base.short_texts import refused
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import ONCE_FIELD, PageRequest
from heliograph.portal.visit import Visit
from heliograph.requests import Answer, KeyPlace, free_key, run_once

ONCE_OCTETS: Final = 16  # so that no two forms are one
CHANGED: Final = "This form was sent before, with something else in it. Load its page again."


def new_once() -> str:
    """Returns the random value of a new form."""
    return secrets.token_urlsafe(ONCE_OCTETS)


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
    portal's own, so that no program's key meets it. Raises InvalidRequest, Conflict for a form
    that was changed since.
    """
    place = _place(asking, visit, path, sandbox)
    said = body_of(asking)
    if asking.sent.file:
        said["file"] = hashlib.sha256(asking.sent.file).hexdigest()
    try:
        return run_once(tx, place, encode(said), effect)
    except Conflict as error:
        if error.reason != Conflict.reason:
            raise
        raise Conflict(CHANGED) from error


def forget_once(
    tx: Connection, asking: PageRequest, visit: Visit, path: str, *, sandbox: bool
) -> None:
    """Forgets that a form was sent, because what it began was undone in a later transaction."""
    free_key(tx, _place(asking, visit, path, sandbox))


def once_of(asking: PageRequest) -> str:
    """Returns the random value of the form that was sent. Raises InvalidRequest."""
    value = body_of(asking).get(ONCE_FIELD)
    if value is None:
        raise refused(ONCE_FIELD, "is required")
    return value


def _place(asking: PageRequest, visit: Visit, path: str, sandbox: bool) -> KeyPlace:
    sha256 = hashlib.sha256(once_of(asking).encode()).hexdigest()
    return KeyPlace(visit.account.id, sandbox, path, sha256)
