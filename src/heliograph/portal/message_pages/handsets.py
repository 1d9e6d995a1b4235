"""Shows the handsets of the simulator with what arrives there, as a phone shows it. It takes all
texts of the sandbox, and those of live mode whose route leads to it. A text that failed did not
arrive, and is shown as such.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import NotFound
from heliograph.base.forms import shown
from heliograph.base.paging import PageWanted
from heliograph.carriers import SIMULATOR_ID, all_routes
from heliograph.messages import read
from heliograph.otp import SANDBOX_CODE
from heliograph.portal.languages import marked
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit
from heliograph.text import parse_phone

NEWEST_MAX: Final = 200  # texts that the list of handsets is made from
TEXTS_MAX: Final = 50  # on the page of one handset
ENDING_DIGITS: Final = 3
ARRIVES: Final = "567"  # an ending that chooses nothing
# what the last digits of a number choose (docs/api.md, "Sandbox"), as a person would ask for it
ENDINGS: Final = {
    "000": marked("is not delivered"),
    "001": marked("is refused"),
    "002": marked("expires"),
    "003": marked("is 30 s late"),
    "004": marked("costs too much"),
}


class NextText(NamedTuple):
    """Names a number of this handset, or one like it, and says what becomes of a text to it."""

    phone: str
    words: str


class SandboxPhone(NamedTuple):
    """Holds a phone, its newest text, and how many of the newest texts went to it."""

    phone: str
    newest: dict[str, Any]
    texts: int


def handsets(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the phones that texts went to lately."""
    return page("handsets.html", asking, visit=visit, handsets=_handsets(tx, visit))


def one(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the texts to one phone, the newest last. Raises NotFound for what is no number."""
    phone = _phone(asking)
    return page(
        "handset.html",
        asking,
        visit=visit,
        phone=phone,
        texts=_texts(tx, visit, phone),
        next_texts=_next_texts(phone),
    )


def _handsets(tx: Connection, visit: Visit) -> list[SandboxPhone]:
    found = _simulated(tx, visit, PageWanted(NEWEST_MAX, None), read.Filters())
    by_phone: dict[str, list[dict[str, Any]]] = {}
    for message in _as_a_phone_shows(found):
        if message["recipient"] is not None:  # it is null once it is erased
            by_phone.setdefault(message["recipient"], []).append(message)
    return [SandboxPhone(phone, texts[0], len(texts)) for phone, texts in by_phone.items()]


def _texts(tx: Connection, visit: Visit, phone: str) -> list[dict[str, Any]]:
    wanted, filters = PageWanted(TEXTS_MAX, None), read.Filters(recipient=int(phone))
    return list(_as_a_phone_shows(_simulated(tx, visit, wanted, filters)))[::-1]


def _simulated(
    tx: Connection, visit: Visit, wanted: PageWanted, filters: read.Filters
) -> list[read.Message]:
    """Returns the newest texts that the simulator took, the newest first. Those of live mode are
    looked for among as many as are wanted, and only where a route leads to the simulator.
    """
    found = read.report(tx, visit.account.id, wanted, filters, sandbox=True).messages
    if any(SIMULATOR_ID in route.carrier_ids for route in all_routes(tx)):
        live = read.report(tx, visit.account.id, wanted, filters, sandbox=False).messages
        simulated = read.handed_to(tx, SIMULATOR_ID, [message.id for message in live])
        found += [message for message in live if message.id in simulated]
    return sorted(found, key=lambda message: message.id, reverse=True)[: wanted.limit]


def _next_texts(phone: str) -> list[NextText]:
    """Returns the numbers that choose what becomes of the next text. A text to an ordinary number
    arrives anyhow.
    """
    start, ending = phone[:-ENDING_DIGITS], phone[-ENDING_DIGITS:]
    chosen = [NextText(start + digits, words) for digits, words in ENDINGS.items()]
    return [NextText(start + ARRIVES, "arrives"), *chosen] if ending in ENDINGS else chosen


def _as_a_phone_shows(messages: Iterable[read.Message]) -> Iterable[dict[str, Any]]:
    """Yields messages with what a phone would show. The text of a one-time password is kept
    nowhere, but in sandbox its code is always the same.
    """
    for message in messages:
        record = row(message)
        if record["type"] == "otp" and message.sandbox:
            record["message"] = f"Your code is {SANDBOX_CODE}."
        yield record


def _phone(asking: PageRequest) -> str:
    phone = parse_phone(asking.path["phone"])
    if phone is None:
        raise NotFound(f"There is no handset {shown(asking.path['phone'])}.")
    return str(phone.digits)
