"""Manages sender IDs, the names that texts may come from. Accounts register them, and the operator
approves them.
"""

from heliograph.senders.documents import (
    DOCUMENT_OCTETS_MAX,
    DOCUMENTS_KEPT,
    DOCUMENTS_PER_SENDER_MAX,
    attach,
    content_of,
    detach,
    document_of,
    documents_of,
    remove_documents,
)
from heliograph.senders.history import as_step_record, history
from heliograph.senders.look_alikes import look_alikes, waiting_look_alikes
from heliograph.senders.register import (
    PURPOSE_MAX,
    approve,
    changes,
    make_default,
    register,
    registered,
    reject,
    suspend,
)
from heliograph.senders.reserved import Reserved, release, reserve, reserved, why_reserved
from heliograph.senders.rules import check
from heliograph.senders.sender import (
    Sender,
    approved_senders,
    as_record,
    counted_by_status,
    default_senders,
    find,
    named,
    own_sender,
    page,
    text_id,
    usable,
    waiting,
)
from heliograph.senders.states import APPROVED, REJECTED, STATUSES, SUBMITTED

__all__ = [
    "APPROVED",
    "DOCUMENTS_KEPT",
    "DOCUMENTS_PER_SENDER_MAX",
    "DOCUMENT_OCTETS_MAX",
    "PURPOSE_MAX",
    "REJECTED",
    "STATUSES",
    "SUBMITTED",
    "Reserved",
    "Sender",
    "api",
    "approve",
    "approved_senders",
    "as_record",
    "as_step_record",
    "attach",
    "changes",
    "check",
    "content_of",
    "counted_by_status",
    "default_senders",
    "detach",
    "document_of",
    "documents_of",
    "find",
    "history",
    "look_alikes",
    "make_default",
    "named",
    "own_sender",
    "page",
    "register",
    "registered",
    "reject",
    "release",
    "remove_documents",
    "reserve",
    "reserved",
    "states",
    "suspend",
    "text_id",
    "usable",
    "waiting",
    "waiting_look_alikes",
    "why_reserved",
]
