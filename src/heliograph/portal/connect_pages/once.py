"""A form of Connect that is sent twice is done once, by a random value in it."""

import hashlib
import secrets
from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import Connection

from heliograph.base.json import encode
from heliograph.base.short_texts import refused
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.visit import Visit
from heliograph.requests import Answer, KeyPlace, run_once

ONCE_OCTETS: Final = 16  # so that no two forms are one


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
    body = body_of(asking)
    value = body.get("once")
    if value is None:
        raise refused("once", "is required")
    place = KeyPlace(visit.account.id, sandbox, path, hashlib.sha256(value.encode()).hexdigest())
    return run_once(tx, place, encode(body), effect)
