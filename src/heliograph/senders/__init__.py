"""Manages sender IDs, the names that texts may come from. Accounts register them, and the operator
approves them.
"""

from heliograph.senders.history import (
    Step,
    as_step_record,
    counted_by_past_status,
    history,
    submitted_at_ms,
)
from heliograph.senders.host_names import LikeName, like_hosts
from heliograph.senders.look_alikes import look_alikes, require_reason, waiting_look_alikes
from heliograph.senders.register import (
    PURPOSE_MAX,
    approve,
    changes,
    find_registered,
    make_default,
    register,
    reject,
    suspend,
)
from heliograph.senders.rules import check
from heliograph.senders.sender import (
    Sender,
    approved_senders,
    as_record,
    default_senders,
    find,
    own_sender,
    owners_of,
    page,
    text_id,
    usable,
    waiting,
    with_name,
)

__all__ = [
    "PURPOSE_MAX",
    "LikeName",
    "Sender",
    "Step",
    "api",
    "approve",
    "approved_senders",
    "as_record",
    "as_step_record",
    "changes",
    "check",
    "counted_by_past_status",
    "default_senders",
    "documents",
    "find",
    "find_registered",
    "history",
    "like_hosts",
    "look_alikes",
    "make_default",
    "own_sender",
    "owners_of",
    "page",
    "register",
    "reject",
    "require_reason",
    "reserved_names",
    "states",
    "submitted_at_ms",
    "suspend",
    "text_id",
    "usable",
    "waiting",
    "waiting_look_alikes",
    "with_name",
]
