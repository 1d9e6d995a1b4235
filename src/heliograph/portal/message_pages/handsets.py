"""Handsets of the sandbox: what arrives there, as a phone shows it. A text that failed did not
arrive, and is shown as such.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import NotFound
from heliograph.base.forms import shown
from heliograph.base.paging import PageWanted
from heliograph.messages import read
from heliograph.otp import SANDBOX_CODE
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit
from heliograph.text import parse_phone

NEWEST_MAX: Final = 200  # texts that the list of handsets is made from
TEXTS_MAX: Final = 50  # on the page of one handset


class SandboxPhone(NamedTuple):
    """Holds a phone, its newest text, and how many of the newest texts went to it."""

    phone: str
    newest: dict[str, Any]
    texts: int


def handsets(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the phones that texts of the sandbox went to lately."""
    return page("handsets.html", asking, visit=visit, handsets=_handsets(tx, visit))


def one(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the texts to one phone, the newest last. Raises NotFound for what is no number."""
    phone = _phone(asking)
    return page("handset.html", asking, visit=visit, phone=phone, texts=_texts(tx, visit, phone))


def _handsets(tx: Connection, visit: Visit) -> list[SandboxPhone]:
    found = read.report(
        tx, visit.account.id, PageWanted(NEWEST_MAX, None), read.Filters(), sandbox=True
    )
    by_phone: dict[str, list[dict[str, Any]]] = {}
    for message in _as_a_phone_shows(found.messages):
        if message["recipient"] is not None:  # it is null once it is erased
            by_phone.setdefault(message["recipient"], []).append(message)
    return [SandboxPhone(phone, texts[0], len(texts)) for phone, texts in by_phone.items()]


def _texts(tx: Connection, visit: Visit, phone: str) -> list[dict[str, Any]]:
    found = read.report(
        tx,
        visit.account.id,
        PageWanted(TEXTS_MAX, None),
        read.Filters(recipient=int(phone)),
        sandbox=True,
    )
    return list(_as_a_phone_shows(found.messages))[::-1]


def _as_a_phone_shows(messages: Iterable[read.Message]) -> Iterable[dict[str, Any]]:
    """Yields messages with what a phone would show. The text of a one-time password is kept
    nowhere, but in sandbox its code is always the same.
    """
    for message in messages:
        record = row(message)
        if record["type"] == "otp":
            record["message"] = f"Your code is {SANDBOX_CODE}."
        yield record


def _phone(asking: PageRequest) -> str:
    phone = parse_phone(asking.path["phone"])
    if phone is None:
        raise NotFound(f"There is no handset {shown(asking.path['phone'])}.")
    return str(phone.digits)
