"""Shows a form that sends a text. It counts the text's segments and its price while it is typed."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, senders
from heliograph.base import ids
from heliograph.base.errors import Conflict, FieldError, ServiceError
from heliograph.messages.accept import (
    SANDBOX_SENDER,
    AnsweredText,
    SendRequest,
    accept_or_explain,
    answer_to,
    read_send_request,
    response_of_send,
)
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import conflict_in_words, send_once
from heliograph.portal.languages import marked
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import MODES, Visit, visit_of
from heliograph.text import UCS_2, beyond_gsm7, count_segments
from heliograph.users import Right

# why a number gets nothing, by the reasons of the API
LEFT_OUT: Final = {
    "invalid_number": marked("no phone number"),
    "country_not_allowed": marked("in a country that this account may not send to"),
    "no_route": marked("no carrier is connected for it"),
    "no_rate": marked("no price is set for it"),
    "opted_out": marked("opted out"),
}
FIELDS: Final = ("mode", "sender", "recipients", "message", "reference")
CHANGED: Final = "This form was sent before, with another text. Send it as a new one?"
PATH: Final = "POST /portal/send"  # of Idempotency-Keys: those of programs have other paths
# marks, separators and controls: a reader would see nothing, or not what it does to the next words
UNSEEN: Final = ("M", "Z", "C")
BETWEEN_NUMBERS: Final = re.compile(r"[,;\s]*[,;\r\n]\s*")


class LeftOut(NamedTuple):
    """Holds a number that gets nothing, as it was written, and why."""

    recipient: str
    why: str


class TextCount(NamedTuple):
    """Says what a text takes, and what would have been enough without the characters that make it
    UCS-2. `answer` is what sending it would be answered, if it can be sent as it is. `wrong` is
    what the API says of the text itself, such as that it is too long.
    """

    characters: int
    encoding: str
    segments: int
    beyond: list[str]
    segments_without: int
    answer: dict[str, Any] | None
    left_out: list[LeftOut]
    wrong: FieldError | None


class SendAttempt(NamedTuple):
    """Says what became of a form that sends: `data` of the answer of its send; or, where nothing
    was sent, why not, and what the text takes.
    """

    answer: dict[str, Any] | None
    sandbox: bool
    error: ServiceError | None
    counted: TextCount | None


def show_form(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the form to those who may send. What the query has is filled in."""
    visit.require(tx, Right.SEND)
    return _render(tx, request, visit)


def count(request: PageRequest) -> Response:
    """Returns the part of the page that counts, for what is typed so far."""
    visit = visit_of_sender(request)
    return page("send_count.html", request, visit=visit, counted=_count_text(request, visit))


def send(request: PageRequest) -> Response:
    """Sends the text, and leads to what became of it. With the button that counts, it shows what
    it takes and costs. What POST /sms/send would refuse is refused in the same words.
    """
    visit = visit_of_sender(request)
    tried = attempt(request, visit)
    if tried.answer is None:
        with request.db.read() as tx:
            return _render(tx, request, visit, tried.error, tried.counted)
    mode = "?mode=sandbox" if tried.sandbox else "?mode=live"
    found = tried.answer["message_id"]
    below = f"/{found}" if found else f"{mode}&send_id={tried.answer['send_id']}"
    notice = DoneNotice.ON_ITS_WAY_TO_SOME if tried.answer["rejected"] else DoneNotice.ON_ITS_WAY
    return redirect(f"{visit.home}/messages{below}", notice)


def attempt(request: PageRequest, visit: Visit, answers: AnsweredText | None = None) -> SendAttempt:
    """Does what a form that sends asks for. A form that is sent twice sends once. `answers` is the
    account's inbound text that it answers.
    """
    try:
        send_request = _answer_request(request, visit, answers)
        send_request.dry_run = request.sent.form.get("do") != "send"
        if not send_request.dry_run:
            send_once(request, send_request, PATH)
        answer = accept(request, send_request)
    except ServiceError as refusal:
        error = conflict_in_words(refusal, CHANGED) if isinstance(refusal, Conflict) else refusal
        return SendAttempt(None, False, error, _count_text(request, visit, answers))
    if send_request.dry_run:
        return SendAttempt(None, False, None, _count_text(request, visit, answers))
    return SendAttempt(answer, send_request.sandbox, None, None)


def visit_of_sender(request: PageRequest) -> Visit:
    """Returns the visit of somebody who may send. Raises Forbidden for others."""
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.SEND)
    return visit


def _request(request: PageRequest, visit: Visit) -> SendRequest:
    """Returns what the form asks for, as the API reads it. Raises InvalidRequest."""
    body: dict[str, Any] = body_of(request)
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    accounts.require_mode(visit.account, sandbox=mode == "sandbox")
    body = {name: body[name] for name in ("sender", "recipients", "reference") if name in body}
    if "recipients" in body:
        body["recipients"] = [
            number for number in BETWEEN_NUMBERS.split(body["recipients"]) if number
        ]
    body["message"] = typed_text(request)
    return read_send_request(
        body,
        ids.new_number(request.now_ms),
        visit.account.id,
        sandbox=mode == "sandbox",
        home_country=visit.account.country_code,
    )


def _answer_request(
    request: PageRequest, visit: Visit, answers: AnsweredText | None
) -> SendRequest:
    """Returns what `_request` does, as an answer to a text if there is one."""
    send_request = _request(request, visit)
    if answers is not None:
        answer_to(send_request, answers)
    return send_request


def typed_text(request: PageRequest) -> str:
    """Returns the text as it was typed: forms carry each end of a line as two characters."""
    return request.sent.form.get("message", "").replace("\r\n", "\n")


def accept(request: PageRequest, send_request: SendRequest) -> dict[str, Any]:
    """Returns `data` of the answer. Raises what POST /sms/send refuses."""
    service = request.service
    sending = accept_or_explain(service.acceptor, service.db, send_request, request.in_thread)
    return response_of_send(request.run_in_loop(sending).send, dry_run=send_request.dry_run)


def _count_text(
    request: PageRequest, visit: Visit, answers: AnsweredText | None = None
) -> TextCount | None:
    """Returns what the text takes, and its price if all is there that a price needs. `answers` is
    the inbound text that it answers.
    """
    text = typed_text(request)
    if not text:
        return None
    beyond = dict.fromkeys(beyond_gsm7(text))
    taken = count_segments(text)
    without = count_segments("".join("x" if each in beyond else each for each in text))
    answer, wrong = None, None
    try:
        send_request = _answer_request(request, visit, answers)
        send_request.dry_run = True
        answer = accept(request, send_request)
    except ServiceError as refusal:  # what else is missing is said by the button that sends
        wrong = next((error for error in refusal.fields if error.field == "message"), None)
    return TextCount(
        characters=len(text),
        encoding=taken.encoding,
        segments=taken.segments,
        beyond=[_visible_name(each) for each in beyond] if taken.encoding == UCS_2 else [],
        segments_without=without.segments,
        answer=answer,
        left_out=_left_out(answer) if answer else [],
        wrong=wrong,
    )


def _left_out(answer: dict[str, Any]) -> list[LeftOut]:
    return [
        LeftOut(each["recipient"], LEFT_OUT.get(each["reason"], each["reason"]))
        for each in answer["rejected"]
    ]


def _visible_name(character: str) -> str:
    """Returns a character as a page can show it: one that nobody sees by its number and its name
    in Unicode.
    """
    if unicodedata.category(character)[0] not in UNSEEN:
        return character
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _render(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    error: ServiceError | None = None,
    counted: TextCount | None = None,
) -> Response:
    errors, why = errors_at_fields(error, FIELDS)
    names = sender_names(tx, visit, sandbox=True)
    filled_in = {"mode": "sandbox", "sender": usual_sender(tx, visit) or next(iter(names))}
    return page(
        "send.html",
        request,
        is_form_page=True,
        status=200 if error is None else error.status,
        visit=visit,
        modes=visit.modes,
        names=names,
        typed={**filled_in, **dict(request.sent.query), **request.sent.form},
        errors=errors,
        why=why,
        counted=counted,
    )


def usual_sender(tx: Connection, visit: Visit) -> str | None:
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
    is_below_form = error is not None and not (errors and set(errors) <= set(fields))
    return errors, error if is_below_form and error is not None else ""
