"""Finds out what a sender is that is not approved. It is looked up only when its send is refused,
so that no other send pays for it.
"""

from typing import Final

from sqlalchemy.engine import Connection

from heliograph import senders
from heliograph.database.database import Database
from heliograph.messages.accept.acceptor import Acceptor
from heliograph.messages.accept.batch import SendResult
from heliograph.messages.accept.refusals import SenderNotApproved
from heliograph.messages.accept.request import SendRequest
from heliograph.requests import InThread

_STATUSES: Final = {
    "submitted": "was submitted and is not approved yet",
    "rejected": "was submitted and rejected",
    "suspended": "is suspended",
}


async def accept_or_explain(
    acceptor: Acceptor, db: Database, request: SendRequest, in_thread: InThread
) -> SendResult:
    """Does what `Acceptor.accept` does, but the refusal of a sender says whether it was
    submitted, and where to look, which `in_thread` finds out. Raises Unavailable too.
    """
    try:
        return await acceptor.accept(request)
    except SenderNotApproved as refusal:

        def explain() -> SenderNotApproved:
            with db.read() as tx:
                return _explain(tx, request)

        raise await in_thread(explain) from refusal


def _explain(tx: Connection, request: SendRequest) -> SenderNotApproved:
    of_customer = request.account_id != request.key_account_id
    whose, where = (
        ("the customer", "GET /sender-ids with its customer_id")
        if of_customer
        else ("this account", "GET /sender-ids")
    )
    found = senders.with_name(tx, request.account_id, request.sender.removeprefix("+"))
    own = [sender for sender in found if sender.sandbox == request.sandbox] or [
        sender for sender in found if request.sandbox
    ]
    if own and own[0].status in _STATUSES:
        where += " with a live key" * (own[0].sandbox != request.sandbox)
        return SenderNotApproved(
            f"The sender {request.sender!r} {_STATUSES[own[0].status]}; {where} shows its status."
        )
    if found and not own:
        return SenderNotApproved(
            f"The sender {request.sender!r} was registered with a sandbox key and serves sandbox"
            " keys only; register it with a live key (POST /sender-ids)."
        )
    return SenderNotApproved(
        f"The sender {request.sender!r} is not approved for {whose}; {where} lists its senders, and"
        " POST /sender-ids registers one."
    )
