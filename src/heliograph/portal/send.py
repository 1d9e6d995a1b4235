"""Shows a form that sends a text. It counts the text's segments and its price while it is typed."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, senders
from heliograph.base import ids
from heliograph.base.errors import Conflict, ServiceError
from heliograph.messages.accept import (
    SANDBOX_SENDER,
    AnsweredText,
    SendRequest,
    accept_or_explain,
    answer_to,
    read_send,
    send_answer,
)
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.once import changed_since, send_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import MODES, Visit, visit_of
from heliograph.text import UCS_2, beyond_gsm7, count_segments
from heliograph.users import Right

FIELDS: Final = ("mode", "sender", "recipients", "message", "reference")
CHANGED: Final = "This form was sent before, with another text. Send it as a new one?"
PATH: Final = "POST /portal/send"  # of Idempotency-Keys: those of programs have other paths
# marks, separators and controls: a reader would see nothing, or not what it does to the next words
UNSEEN: Final = ("M", "Z", "C")
BETWEEN_NUMBERS: Final = re.compile(r"[,;\s]*[,;\r\n]\s*")


class Counted(NamedTuple):
    """Says what a text takes, and what would have been enough without the characters that make it
    UCS-2. `answer` is what sending it would be answered, if it can be sent as it is.
    """

    characters: int
    encoding: str
    segments: int
    beyond: list[str]
    segments_without: int
    answer: dict[str, Any] | None


class TriedSend(NamedTuple):
    """Says what became of a form that sends: `data` of the answer of its send; or, where nothing
    was sent, why not, and what the text takes.
    """

    answer: dict[str, Any] | None
    sandbox: bool
    error: ServiceError | None
    counted: Counted | None


def form(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the form to those who may send. What the query has is filled in."""
    visit.require(tx, Right.SEND)
    return _shown(tx, asking, visit)


def count(asking: PageRequest) -> Response:
    """Returns the part of the page that counts, for what is typed so far."""
    visit = sending_visit(asking)
    return page("send_count.html", asking, visit=visit, counted=_counted(asking, visit))


def send(asking: PageRequest) -> Response:
    """Sends the text, and leads to what became of it. With the button that counts, it shows what
    it takes and costs. What POST /sms/send would refuse is refused in the same words.
    """
    visit = sending_visit(asking)
    tried = attempt(asking, visit)
    if tried.answer is None:
        with asking.db.read() as tx:
            return _shown(tx, asking, visit, tried.error, tried.counted)
    mode = "?mode=sandbox" if tried.sandbox else "?mode=live"
    found = tried.answer["message_id"]
    below = f"/{found}" if found else f"{mode}&send_id={tried.answer['send_id']}"
    return redirect(f"{visit.home}/messages{below}", DoneNotice.ON_ITS_WAY)


def attempt(asking: PageRequest, visit: Visit, answers: AnsweredText | None = None) -> TriedSend:
    """Does what a form that sends asks for. A form that is sent twice sends once. `answers` is the
    account's inbound text that it answers.
    """
    try:
        request = _answering(asking, visit, answers)
        request.dry_run = asking.sent.form.get("do") != "send"
        if not request.dry_run:
            send_once(asking, request, PATH)
        answer = accepted(asking, request)
    except ServiceError as refusal:
        error = changed_since(refusal, CHANGED) if isinstance(refusal, Conflict) else refusal
        return TriedSend(None, False, error, _counted(asking, visit, answers))
    if request.dry_run:
        return TriedSend(None, False, None, _counted(asking, visit, answers))
    return TriedSend(answer, request.sandbox, None, None)


def sending_visit(asking: PageRequest) -> Visit:
    """Returns the visit of somebody who may send. Raises Forbidden for others."""
    with asking.db.read() as tx:
        visit = visit_of(tx, asking)
        visit.require(tx, Right.SEND)
    return visit


def _request(asking: PageRequest, visit: Visit) -> SendRequest:
    """Returns what the form asks for, as the API reads it. Raises InvalidRequest."""
    body: dict[str, Any] = body_of(asking)
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    accounts.require_mode(visit.account, sandbox=mode == "sandbox")
    body = {name: body[name] for name in ("sender", "recipients", "reference") if name in body}
    if "recipients" in body:
        body["recipients"] = [
            number for number in BETWEEN_NUMBERS.split(body["recipients"]) if number
        ]
    body["message"] = typed_text(asking)
    return read_send(
        body,
        ids.new_number(asking.now_ms),
        visit.account.id,
        sandbox=mode == "sandbox",
        home_country=visit.account.country_code,
    )


def _answering(asking: PageRequest, visit: Visit, answers: AnsweredText | None) -> SendRequest:
    """Returns what `_request` does, as an answer to a text if there is one."""
    request = _request(asking, visit)
    if answers is not None:
        answer_to(request, answers)
    return request


def typed_text(asking: PageRequest) -> str:
    """Returns the text as it was typed: forms carry each end of a line as two characters."""
    return asking.sent.form.get("message", "").replace("\r\n", "\n")


def accepted(asking: PageRequest, request: SendRequest) -> dict[str, Any]:
    """Returns `data` of the answer. Raises what POST /sms/send refuses."""
    service = asking.service
    sending = accept_or_explain(service.acceptor, service.db, request, asking.in_thread)
    return send_answer(asking.awaited(sending).send, dry_run=request.dry_run)


def _counted(
    asking: PageRequest, visit: Visit, answers: AnsweredText | None = None
) -> Counted | None:
    """Returns what the text takes, and its price if all is there that a price needs. `answers` is
    the inbound text that it answers.
    """
    text = typed_text(asking)
    if not text:
        return None
    beyond = beyond_gsm7(text)
    taken = count_segments(text)
    without = count_segments("".join("x" if each in beyond else each for each in text))
    answer = None
    try:
        request = _answering(asking, visit, answers)
        request.dry_run = True
        answer = accepted(asking, request)
    except ServiceError:
        pass  # the button that sends says what is missing
    return Counted(
        len(text),
        taken.encoding,
        taken.segments,
        [_visible(each) for each in beyond] if taken.encoding == UCS_2 else [],
        without.segments,
        answer,
    )


def _visible(character: str) -> str:
    """Returns a character as a page can show it: one that nobody sees by its number and its name
    in Unicode.
    """
    if unicodedata.category(character)[0] not in UNSEEN:
        return character
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _shown(
    tx: Connection,
    asking: PageRequest,
    visit: Visit,
    error: ServiceError | None = None,
    counted: Counted | None = None,
) -> Response:
    errors, why = errors_at_fields(error, FIELDS)
    names = sender_names(tx, visit, sandbox=True)
    filled_in = {"mode": "sandbox", "sender": _usual_sender(tx, visit) or next(iter(names))}
    return page(
        "send.html",
        asking,
        is_form_page=True,
        status=200 if error is None else error.status,
        visit=visit,
        modes=visit.modes,
        names=names,
        typed={**filled_in, **dict(asking.sent.query), **asking.sent.form},
        errors=errors,
        why=why,
        counted=counted,
    )


def _usual_sender(tx: Connection, visit: Visit) -> str | None:
    """Returns the account's default sender or, where there is none, the oldest that may send in
    both modes.
    """
    defaults = senders.default_senders(tx, [visit.account.id])
    usual = defaults.get((visit.account.id, False))
    oldest = senders.usable(tx, visit.account.id, sandbox=False)
    return usual or next((each.sender for each in oldest), None)


def sender_names(tx: Connection, visit: Visit, *, sandbox: bool) -> list[str]:
    """Returns the senders that texts of this mode may come from. The sandbox has one more."""
    names = [each.sender for each in senders.usable(tx, visit.account.id, sandbox=sandbox)]
    return [*names, SANDBOX_SENDER] if sandbox else names


def errors_at_fields(
    error: ServiceError | None, fields: Sequence[str]
) -> tuple[dict[str, str], ServiceError | str]:
    """Returns what is wrong at which of the fields that a form shows, and what is told below the
    form, because it stands at none of them.
    """
    at_fields = error.fields if error is not None else []
    errors = {each.field.partition("[")[0]: each.message for each in at_fields}
    is_elsewhere = error is not None and not (errors and set(errors) <= set(fields))
    return errors, error if is_elsewhere and error is not None else ""
