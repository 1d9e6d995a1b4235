"""Shows conversations: the phones that have written, and what an account and one of them have
written to each other, with a box to answer in.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import contacts, inbound, opt_outs
from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest, NotFound, ServiceError
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import PageWanted, read_page
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import BINARY
from heliograph.contacts import Contact, ContactOwner
from heliograph.inbound import InboundText, OwnNumber, answered_text, conversations, texts_file
from heliograph.messages.accept import AnsweredText
from heliograph.messages.read import Message
from heliograph.messages.sweeps import withdraw
from heliograph.opt_outs import WHOLE_ACCOUNT, OptOutOwner, OptOutSource
from heliograph.portal import send
from heliograph.portal.export import pieces
from heliograph.portal.filled_form import choice_of
from heliograph.portal.list_page import older_query
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, DoneNotice, Download, page, redirect
from heliograph.portal.send import TextCount
from heliograph.portal.visit import MODES, Visit
from heliograph.text import parse_phone

NUMBERS_MAX: Final = 20  # that the list names; GET /numbers returns all
FIELDS: Final = ("sender", "message")  # of the box that answers


class ShownLine(NamedTuple):
    """Holds a text as a conversation shows it. `message` is ours, as a line of a table has it; None
    for a text of the phone.
    """

    at_ms: int
    text: str | None
    octets: int | None  # of what came in binary, and is no text
    from_phone: InboundText | None
    message: dict[str, Any] | None


class ShownConversation(NamedTuple):
    """Holds a line of the list: `path` leads to the conversation, `last` is what was said last."""

    phone: str
    path: str
    name: str | None
    last: ShownLine


class _ConversationsQuery(NamedTuple):
    sandbox: bool
    page: PageWanted
    phone: str | None

    @property
    def mode(self) -> str:
        return "sandbox" if self.sandbox else "live"


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the phones that have written, by when they wrote last; a phone that is looked for leads
    to its conversation.
    """
    typed = dict(request.sent.query)
    typed["mode"] = typed.get("mode") or visit.mode
    errors: list[FieldError] = []
    listed = conversations.ConversationsPage([], None)
    numbers: Sequence[OwnNumber] = ()
    try:
        query = _read_query(request, visit)
    except InvalidRequest as wrong:
        errors = list(wrong.fields)
    else:
        if query.phone is not None:
            path = f"{visit.home}/conversations/{query.phone}?mode={query.mode}"
            return RedirectResponse(path, SEE_OTHER, HEADERS)
        listed = conversations.conversations_page(
            tx, visit.account.id, query.page, sandbox=query.sandbox
        )
        numbers_wanted = PageWanted(NUMBERS_MAX, None)
        numbers = inbound.numbers_page(tx, visit.account.id, numbers_wanted, sandbox=query.sandbox)
    return page(
        "conversations.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        conversations=_displayed_conversations(tx, visit, listed.conversations, typed["mode"]),
        older=older_query(request, listed.next_before),
        numbers=[each.digits for each in numbers[:NUMBERS_MAX]],
        typed=typed,
        mode=typed["mode"],
        modes=visit.modes,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in ("mode", "phone")],
    )


def export(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the texts that came in as a file, newest first. Raises InvalidRequest."""
    query = Query(request.sent.query)
    mode = query.choice("mode", MODES) or visit.mode
    query.finish()

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        wanted = PageWanted(texts_file.PAGE, before)
        found = inbound.inbound_page(tx, visit.account.id, wanted, sandbox=mode == "sandbox")
        texts = found[: wanted.limit]
        next_before = texts[-1].id if len(found) > wanted.limit else None
        return texts_file.lines(texts), next_before

    return Download(f"texts-{mode}.csv", pieces(request, texts_file.first_line(), read_lines))


def show_conversation(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows what the account and a phone have written to each other, and the box that answers to
    those who may send. The path names the phone, or a text that came from it.
    """
    return _conversation(tx, request, visit)


def answer(request: PageRequest) -> Response:
    """Sends an answer to the phone, as the form Send a text does, and shows the conversation."""
    visit = send.visit_of_sender(request)
    is_sandbox = request.sent.form.get("mode", visit.mode) == "sandbox"
    with request.db.read() as tx:
        phone = _phone(tx, request, visit)
        answers = _text_to_answer(tx, visit, phone, sandbox=is_sandbox)
    form = {**request.sent.form, "recipients": phone}
    tried = send.attempt(
        request._replace(sent=request.sent._replace(form=form)),
        visit,
        answers=answers,
    )
    if tried.answer is None:
        with request.db.read() as tx:
            return _conversation(tx, request, visit, tried.error, tried.counted)
    mode = "sandbox" if tried.sandbox else "live"
    path = f"{visit.home}/conversations/{request.path['phone']}?mode={mode}"
    return redirect(path, DoneNotice.ON_ITS_WAY)


def _text_to_answer(
    tx: Connection, visit: Visit, phone: str, *, sandbox: bool
) -> AnsweredText | None:
    """Returns the text that an answer to the phone answers: its newest one, or what asks for help
    if the phone has opted out, because only an answer to that reaches it.
    """
    helped = _text_asking_for_help(tx, visit, phone, sandbox=sandbox)
    if helped is not None:
        return helped
    newest = conversations.newest_of(tx, visit.account.id, phone, sandbox=sandbox)
    if newest is None:
        return None
    text_id = ids.text_of_raw(inbound.INBOUND_PREFIX, newest.id)
    return answered_text.answered_text(tx, visit.account.id, text_id, sandbox=sandbox)


def _text_asking_for_help(
    tx: Connection, visit: Visit, phone: str, *, sandbox: bool
) -> AnsweredText | None:
    """Returns the text of a phone that has opted out, of all texts or of those of a sender, which
    an answer may still help.
    """
    if conversations.number_of(phone) is None:
        return None
    owner = OptOutOwner(visit.account.id, sandbox)
    if not opt_outs.opt_outs_of(tx, owner, phone):
        return None
    return answered_text.help_to_answer(tx, visit.account.id, phone, sandbox=sandbox)


def opt_out(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Stores that the phone wants no texts of the account, as POST /opt-outs does, or lifts it.
    Raises NotFound for what is not a phone, and InvalidRequest.
    """
    phone = _phone(tx, request, visit)
    if conversations.number_of(phone) is None or parse_phone(phone) is None:
        raise NotFound(f"There is no phone {quote_value(phone)} to opt out.")
    mode = choice_of("mode", request.sent.form.get("mode", ""), MODES)
    owner = OptOutOwner(visit.account.id, mode == "sandbox")
    match request.sent.form.get("do"):
        case "add":
            changed = opt_outs.suppress(
                tx, owner, [phone], source=OptOutSource.PORTAL, now_ms=request.now_ms
            )
            withdraw(tx, owner, phone, WHOLE_ACCOUNT, request.now_ms)
        case "remove":
            changed = opt_outs.lift(
                tx, owner, [phone], by=OptOutSource.PORTAL, now_ms=request.now_ms, scope=None
            )
        case unknown:
            raise invalid_field(
                "do", f"must be one of the buttons of this page, not {quote_value(unknown or '')}"
            )
    if changed:
        visit.audit(tx, request, f"opt_out.{request.sent.form['do']}")
    return redirect(f"{visit.home}/conversations/{phone}?mode={mode}", DoneNotice.SAVED)


def show_opt_out_errors(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError]
) -> Response:
    """Shows the conversation again, with what is wrong with the form that opts out."""
    return _conversation(tx, request, visit, InvalidRequest(errors[0].message, fields=[*errors]))


def _conversation(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    error: ServiceError | None = None,
    counted: TextCount | None = None,
) -> Response:
    phone = _phone(tx, request, visit)
    query = _read_query(request, visit)
    conversation = conversations.conversation_page(
        tx, visit.account.id, phone, query.page, sandbox=query.sandbox
    )
    newest = conversations.newest_of(tx, visit.account.id, phone, sandbox=query.sandbox)
    number = conversations.number_of(phone)
    owner = ContactOwner(visit.account.id, query.sandbox)
    contact = _contact(tx, owner, number)
    can_be_answered = number is not None and parse_phone(phone) is not None
    opted_out = _opted_out(tx, visit, phone, sandbox=query.sandbox) if can_be_answered else None
    errors, why = send.errors_at_fields(error, FIELDS)
    return page(
        "conversation.html",
        request,
        is_live=True,
        is_form_page=True,
        status=200 if error is None else error.status,
        visit=visit,
        phone=phone,
        path=f"{visit.home}/conversations/{request.path['phone']}",
        mode=query.mode,
        contact=contact,
        contact_id=contacts.text_id(contact) if contact is not None else None,
        lines=[_line(each) for each in reversed(conversation.lines)],
        older=older_query(request, conversation.next_before),
        is_newest=query.page.before is None,
        can_be_answered=can_be_answered,
        opted_out=opted_out,
        may_be_helped=bool(opted_out)
        and _text_asking_for_help(tx, visit, phone, sandbox=query.sandbox) is not None,
        written_to=newest.recipient if newest is not None else None,
        names=_senders(tx, visit, newest, sandbox=query.sandbox),
        typed=request.sent.form,
        errors=errors,
        why=why,
        counted=counted,
    )


def _read_query(request: PageRequest, visit: Visit) -> _ConversationsQuery:
    """Reads which page of which mode is asked for, and which phone is looked for. Raises
    InvalidRequest.
    """
    query = Query(request.sent.query)
    # a form that answers says its mode, too
    mode = query.choice("mode", MODES) or request.sent.form.get("mode") or visit.mode
    wanted = read_page(query)
    sought = (query.text("phone") or "").strip() or None
    phone = None if sought is None else _read_phone(sought, visit.account.country_code)
    if sought is not None and phone is None:
        query.errors.append(
            FieldError(
                "phone",
                "must be a phone number in international digits such as 233201234567, not"
                f" {quote_value(sought)}",
            )
        )
    query.finish()
    return _ConversationsQuery(mode == "sandbox", wanted, phone)


def _read_phone(typed: str, home_country: str) -> str | None:
    """Returns the phone that is looked for: any that can be sent to, or the digits of a short
    code.
    """
    phone = parse_phone(typed, None, home_country)
    if phone is not None:
        return phone.digits
    return typed if conversations.number_of(typed) is not None else None


def _phone(tx: Connection, request: PageRequest, visit: Visit) -> str:
    """Returns the phone whose conversation the path names. Raises NotFound."""
    named = request.path["phone"]
    if conversations.number_of(named) is not None:
        return named
    if named.startswith(f"{inbound.INBOUND_PREFIX}_"):
        for sandbox in (False, True):
            try:
                text = inbound.inbound_text(tx, visit.account.id, named, sandbox=sandbox)
            except NotFound:
                continue
            if text.sender is not None:
                return text.sender
    raise NotFound(f"There is no conversation with {quote_value(named)}.")


def _senders(
    tx: Connection, visit: Visit, newest: InboundText | None, *, sandbox: bool
) -> list[str]:
    """Returns what an answer may come from: first what the phone has written to, if texts may come
    from that.
    """
    names = list(dict.fromkeys(send.sender_names(tx, visit, sandbox=sandbox)))
    written_to = "" if newest is None else newest.recipient.lower()
    return sorted(names, key=lambda name: name.lower() != written_to)


def _opted_out(tx: Connection, visit: Visit, phone: str, *, sandbox: bool) -> str | None:
    """Returns what has opted the phone out of all texts of the account, or None if nothing has."""
    found = opt_outs.find_suppressed(tx, OptOutOwner(visit.account.id, sandbox), [phone])
    return found[phone].value if phone in found else None


def _contact(tx: Connection, owner: ContactOwner, number: int | None) -> Contact | None:
    return None if number is None else contacts.by_phone(tx, owner, str(number))


def _displayed_conversations(
    tx: Connection, visit: Visit, found: Sequence[conversations.Conversation], mode: str
) -> list[ShownConversation]:
    phones = [each.phone for each in found if conversations.number_of(each.phone) is not None]
    owner = ContactOwner(visit.account.id, mode == "sandbox")
    names = contacts.by_phones(tx, owner, phones) if phones else {}
    return [
        ShownConversation(
            each.phone,
            _path(visit, each, mode),
            names[each.phone].name if each.phone in names else None,
            _line(each.answer or each.newest),
        )
        for each in found
    ]


def _path(visit: Visit, found: conversations.Conversation, mode: str) -> str:
    """Returns where a conversation is. One with a name is named by its text: no name is a path."""
    is_number = conversations.number_of(found.phone) is not None
    named = found.phone if is_number else ids.text_of_raw(inbound.INBOUND_PREFIX, found.newest.id)
    return f"{visit.home}/conversations/{named}?mode={mode}"


def _line(line: InboundText | Message) -> ShownLine:
    if isinstance(line, Message):
        return ShownLine(line.created_at_ms, row(line)["message"], None, None, row(line))
    if line.encoding == BINARY and line.text is not None:
        return ShownLine(line.received_at_ms, None, _octets(line.text), line, None)
    return ShownLine(line.received_at_ms, line.text, None, line, None)


def _octets(text: str) -> int:
    try:
        return len(base64.b64decode(text))
    except (ValueError, binascii.Error):
        return 0
