"""Shows the documents of a sender ID, and the form that attaches one while it waits."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import senders
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.portal.form_idempotency import redirect_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, RemovedAlready, page, redirect, uploaded_file
from heliograph.portal.visit import Visit, visit_of
from heliograph.senders import documents, states
from heliograph.users import Right

FORM_OCTETS_MAX: Final = documents.OCTETS_MAX + 16 * 1_024  # with what stands around it


def show_list(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the documents of a sender ID. Raises NotFound."""
    sender = senders.own_sender(tx, visit.account.id, request.path["sender"])
    found = documents.of_sender(tx, sender)
    may_change = visit.may(Right.SENDERS) and sender.status == states.SUBMITTED
    return page(
        "sender_documents.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        sender=sender,
        path=f"{visit.home}/senders/{senders.text_id(sender)}/documents",
        documents=found,
        may_change=may_change,
        kept={document.id for document in documents.decided_on(tx, sender, found)},
        may_attach=may_change and documents.may_have_more(tx, sender),
        most=documents.DOCUMENTS_PER_SENDER_MAX,
        mebibytes_max=documents.OCTETS_MAX // 1_024**2,
        errors={error.field: error.message for error in errors},
    )


def may_attach(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the page to those who may attach a document. Raises Forbidden for others."""
    visit.require(tx, Right.SENDERS)
    return show_list(tx, request, visit)


def attach(request: PageRequest) -> Response:
    """Stores the file of the form, and shows the list."""

    def effect(tx: Connection) -> Response:
        visit = visit_of(tx, request)
        visit.require(tx, Right.SENDERS)
        return redirect_once(_attach)(tx, request, visit)

    try:
        return request.db.transact(effect)
    except InvalidRequest as wrong:
        if not wrong.fields:
            raise
        with request.db.read() as tx:
            return show_list(tx, request, visit_of(tx, request), wrong.fields)


def _attach(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    document = documents.attach(
        tx,
        visit.account.id,
        request.path["sender"],
        request.sent.file_name,
        request.sent.file,
        now_ms=request.now_ms,
    )
    visit.audit(tx, request, "sender.attach", request.path["sender"], document.name)
    return redirect(_list_of(request, visit), DoneNotice.SAVED)


def detach(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Removes a document of a sender ID that waits, and shows the list. Raises NotFound for the
    sender ID, and RemovedAlready.
    """
    senders.own_sender(tx, visit.account.id, request.path["sender"])
    try:
        document = documents.detach(
            tx, visit.account.id, request.path["sender"], request.path["document"]
        )
    except NotFound as gone:
        raise RemovedAlready(list_path=_list_of(request, visit)) from gone
    visit.audit(tx, request, "sender.detach", request.path["sender"], document.name)
    return redirect(_list_of(request, visit), DoneNotice.REMOVED)


def download(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Sends a document back. Raises NotFound."""
    sender = senders.own_sender(tx, visit.account.id, request.path["sender"])
    document = documents.find(tx, sender, request.path["document"])
    return uploaded_file(
        documents.content_of(tx, document), document.file_name, document.media_type
    )


def _list_of(request: PageRequest, visit: Visit) -> str:
    return f"{visit.home}/senders/{request.path['sender']}/documents"
