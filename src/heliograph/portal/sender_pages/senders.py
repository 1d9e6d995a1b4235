"""Shows the sender IDs of an account: a list, a form that registers one, and which one is the
default.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, inbound, senders
from heliograph.base.errors import FieldError
from heliograph.base.paging import PageWanted
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import MODES, Visit
from heliograph.senders import Sender, documents, states
from heliograph.senders.api import read_sender_request
from heliograph.users import Right

# one page; an account has a few, and the API pages through more
SHOWN_MAX: Final = 200
FIELDS: Final = ("sender", "country_code", "purpose", "mode", "file")


def show_list(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the account's sender IDs of both modes, newest first, and the form to those who may use
    it.
    """
    found = senders.page(tx, limit=SHOWN_MAX + 1, account_id=visit.account.id)
    wanted = PageWanted(SHOWN_MAX, None)
    # carriers bring live texts only
    numbers = inbound.numbers_page(tx, visit.account.id, wanted, sandbox=False)
    return page(
        "senders.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        senders=[ShownSender(sender, senders.text_id(sender)) for sender in found[:SHOWN_MAX]],
        numbers=numbers[:SHOWN_MAX],
        names={sender.sender for sender in found if sender.status == states.APPROVED},
        waits=any(sender.status == states.SUBMITTED for sender in found),
        is_rejected=any(sender.status == states.REJECTED for sender in found),
        is_cut=len(found) > SHOWN_MAX,
        may_register=visit.may(Right.SENDERS),
        typed={"mode": visit.mode, **dict(request.sent.query), **request.sent.form},
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        most=documents.DOCUMENTS_PER_SENDER_MAX,
        mebibytes_max=documents.OCTETS_MAX // 1_024**2,
    )


class ShownSender(NamedTuple):
    """Holds a sender ID with its id in text form."""

    sender: Sender
    text_id: str


def may_register(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the page to those who may register a sender ID. Raises Forbidden for others."""
    visit.require(tx, Right.SENDERS)
    return show_list(tx, request, visit)


def register(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Submits a sender ID for approval, as POST /sender-ids does, with the documents that are in
    the form, and shows the list. If one of them is refused, nothing is done.
    """
    body = body_of(request)
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    is_default = body.pop("is_default", None) is not None
    asked = read_sender_request(body)
    sandbox = mode == "sandbox"
    accounts.lock(tx, visit.account.id)  # nobody registers it between the two
    before = senders.find_registered(tx, visit.account.id, asked.sender, sandbox=sandbox)
    sender = senders.register(
        tx,
        visit.account.id,
        asked.sender,
        sandbox=sandbox,
        country_code=asked.country_code,
        purpose=asked.purpose,
        set_default=is_default,
        service_sender=request.service.service_sender,
        now_ms=request.now_ms,
    )
    for action in senders.changes(before, sender):
        visit.audit(tx, request, action, senders.text_id(sender), sender.sender)
    for file in request.sent.files:
        document = documents.attach(
            tx,
            visit.account.id,
            senders.text_id(sender),
            file.name,
            file.content,
            now_ms=request.now_ms,
        )
        visit.audit(tx, request, "sender.attach", senders.text_id(sender), document.name)
    return redirect(f"{visit.home}/senders")


def make_default(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Makes a sender ID the one that texts come from when they name none, and shows the list."""
    accounts.lock(tx, visit.account.id)  # nobody makes it the default between the two
    before = senders.find(tx, request.path["sender"])
    sender = senders.make_default(tx, visit.account.id, request.path["sender"])
    for action in senders.changes(before, sender):
        visit.audit(tx, request, action, senders.text_id(sender), sender.sender)
    return redirect(f"{visit.home}/senders", DoneNotice.SAVED)
