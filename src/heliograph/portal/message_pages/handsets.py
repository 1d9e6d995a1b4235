"""Shows the handsets of the simulator with what arrives there, as a phone shows it, and lets them
write. The simulator takes all texts of the sandbox, and those of live mode whose route leads to it.
A text that failed did not arrive, and is shown as such.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import inbound
from heliograph.base import ids
from heliograph.base.errors import NotFound, ServiceError
from heliograph.base.forms import quote_value
from heliograph.base.paging import PageWanted
from heliograph.carriers import SIMULATOR, SIMULATOR_ID, HandsetText, routing, text_of_phone
from heliograph.inbound import conversations
from heliograph.inbound.receive import receiver
from heliograph.messages import read
from heliograph.messages.accept import Replier, read_send_request
from heliograph.otp.code import SANDBOX_CODE
from heliograph.portal import send
from heliograph.portal.filled_form import choice_of
from heliograph.portal.form_idempotency import once_value_of
from heliograph.portal.languages import marked
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import Visit
from heliograph.text import parse_phone

NEWEST_MAX: Final = 200  # texts that the list of handsets is made from
TEXTS_MAX: Final = 50  # on the page of one handset
NUMBERS_MAX: Final = 100  # that a phone can write to
FIELDS: Final = ("to", "message")  # of the box that writes
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


class Destination(NamedTuple):
    """Names what a phone can write to: a sender of the sandbox, or a number of the simulator."""

    name: str
    sandbox: bool

    @property
    def value(self) -> str:
        """Returns what the form calls it."""
        return f"{'sandbox' if self.sandbox else 'live'} {self.name}"


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the phones that texts went to lately."""
    return page("handsets.html", request, is_live=True, visit=visit, handsets=_handsets(tx, visit))


def show_handset(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the texts to and from one phone, the newest last. Raises NotFound for what is not
    a number.
    """
    return _render(tx, request, visit)


def write(request: PageRequest) -> Response:
    """Has the phone write to the account. The text is stored as those that carriers bring are. A
    form that is sent twice writes once.
    """
    visit = send.visit_of_sender(request)
    phone = _phone(request)
    try:
        with request.db.read() as tx:
            text = _read_text(tx, request, visit, phone)
        request.run_in_loop(_store_text(request, text))
    except ServiceError as refusal:
        with request.db.read() as tx:
            return _render(tx, request, visit, refusal)
    return RedirectResponse(f"{visit.home}/handsets/{phone}", SEE_OTHER, HEADERS)


async def _store_text(request: PageRequest, text: HandsetText) -> None:
    """Stores a text that the phone wrote, and answers it if it is a keyword."""
    replier = Replier.for_acceptor(request.service.acceptor)
    taken = await receiver.receive_texts(request.db, SIMULATOR_ID, SIMULATOR, [text], replier)
    replier.wake(set(taken.replied))


def _read_text(tx: Connection, request: PageRequest, visit: Visit, phone: str) -> HandsetText:
    """Returns the text of the form. It may be as long as one that we send, and is refused in the
    same words. Raises InvalidRequest.
    """
    choices = {each.value: each for each in _destinations(tx, visit, [])}
    chosen = choices[choice_of("to", request.sent.form.get("to", ""), list(choices))]
    # the form is read as if we sent the text to the phone
    asked = read_send_request(
        {"sender": chosen.name, "recipients": [phone], "message": send.typed_text(request)},
        ids.new_number(request.now_ms),
        visit.account.id,
        sandbox=chosen.sandbox,
    )
    return text_of_phone(
        phone,
        chosen.name,
        asked.text,
        asked.encoding,
        once_value_of(request),
        visit.account.id if chosen.sandbox else None,
    )


def _render(
    tx: Connection, request: PageRequest, visit: Visit, error: ServiceError | None = None
) -> Response:
    phone = _phone(request)
    texts = _texts(tx, visit, phone)
    errors, why = send.errors_at_fields(error, FIELDS)
    return page(
        "handset.html",
        request,
        is_live=True,
        status=200 if error is None else error.status,
        visit=visit,
        phone=phone,
        texts=texts,
        next_texts=_next_texts(phone),
        can_write_to=_destinations(tx, visit, texts),
        typed=request.sent.form,
        errors=errors,
        why=why,
    )


def _destinations(
    tx: Connection, visit: Visit, texts: Sequence[dict[str, Any]]
) -> list[Destination]:
    """Returns what the phone can write to: first what its newest text came from."""
    names = send.sender_names(tx, visit, sandbox=True)
    numbers = inbound.numbers_page(
        tx, visit.account.id, PageWanted(NUMBERS_MAX, None), sandbox=False
    )
    found = dict.fromkeys(
        [
            *(
                Destination(each.digits, False)
                for each in numbers
                if each.carrier_id == SIMULATOR_ID
            ),
            *(Destination(name, True) for name in names),
        ]
    )
    newest = [Destination(each["sender"], each["sandbox"]) for each in texts[::-1]]
    first = next((each for each in newest if each in found), None)
    return sorted(found, key=lambda each: each != first)


def _handsets(tx: Connection, visit: Visit) -> list[SandboxPhone]:
    wanted = PageWanted(NEWEST_MAX, None)
    found = [*_as_a_phone_shows(_simulated_texts(tx, visit, wanted, read.Filters()))]
    for sandbox in (True, False):
        written = inbound.inbound_page(tx, visit.account.id, wanted, sandbox=sandbox)
        found += _of_the_simulator(written)
    found.sort(key=_at_ms, reverse=True)
    by_phone: dict[str, list[dict[str, Any]]] = {}
    for message in found[:NEWEST_MAX]:
        if message["recipient"] is not None:  # it is null once it is erased
            by_phone.setdefault(message["recipient"], []).append(message)
    return [SandboxPhone(phone, texts[0], len(texts)) for phone, texts in by_phone.items()]


def _texts(tx: Connection, visit: Visit, phone: str) -> list[dict[str, Any]]:
    wanted, filters = PageWanted(TEXTS_MAX, None), read.Filters(recipient=int(phone))
    found = [*_as_a_phone_shows(_simulated_texts(tx, visit, wanted, filters))]
    for sandbox in (True, False):
        written = conversations.texts_of(tx, visit.account.id, phone, wanted, sandbox=sandbox)
        found += _of_the_simulator(written)
    return sorted(found, key=_at_ms)[-TEXTS_MAX:]


def _of_the_simulator(written: Iterable[inbound.InboundText]) -> Iterable[dict[str, Any]]:
    """Yields texts that phones of the simulator wrote, with the fields of one that they got."""
    for text in written:
        if text.sender is not None and text.carrier_id == SIMULATOR_ID:
            yield {
                "is_written": True,
                "recipient": text.sender,
                "sender": text.recipient,
                "message": text.text,
                "status": None,
                "sandbox": text.sandbox,
                "created_at_ms": text.received_at_ms,
                "id": ids.text_of_raw(inbound.INBOUND_PREFIX, text.id),
            }


def _at_ms(text: dict[str, Any]) -> int:
    return int(text["created_at_ms"])


def _simulated_texts(
    tx: Connection, visit: Visit, wanted: PageWanted, filters: read.Filters
) -> list[read.Message]:
    """Returns the newest texts that the simulator took, the newest first. Those of live mode are
    looked for among as many as are wanted, and only where a route leads to the simulator.
    """
    found = read.report(tx, visit.account.id, wanted, filters, sandbox=True).messages
    if any(SIMULATOR_ID in route.carrier_ids for route in routing.all_routes(tx)):
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
        record = {**row(message), "is_written": False}
        if record["type"] == "otp" and message.sandbox:
            record["message"] = f"Your code is {SANDBOX_CODE}."
        yield record


def _phone(request: PageRequest) -> str:
    phone = parse_phone(request.path["phone"])
    if phone is None:
        raise NotFound(f"There is no handset {quote_value(request.path['phone'])}.")
    return str(phone.digits)
