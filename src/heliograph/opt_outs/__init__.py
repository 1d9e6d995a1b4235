"""Keeps who wants no texts of an account, or of one of its senders. It outlives contacts."""

from heliograph.opt_outs.by_operator import (
    OwnedOptOut,
    opt_outs_everywhere,
    opt_phone_out,
)
from heliograph.opt_outs.events import ChangedOptOut, KeywordText, emit_opt_out_events
from heliograph.opt_outs.read import find_suppressed, is_suppressed, opt_out_page, opt_outs_of
from heliograph.opt_outs.request import OptOutRequest, read_opt_out_request
from heliograph.opt_outs.suppress import (
    delete_opt_outs,
    lift,
    store_opt_outs,
    suppress,
    suppress_and_lift,
)
from heliograph.opt_outs.suppression import (
    OPT_OUT_PREFIX,
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    Suppression,
    as_suppression_record,
    scope_of_sender,
)
from heliograph.opt_outs.tables import SUPPRESSED_SENDER_MAX, OptOutSource

__all__ = [
    "OPT_OUT_PREFIX",
    "SUPPRESSED_SENDER_MAX",
    "WHOLE_ACCOUNT",
    "ChangedOptOut",
    "KeywordText",
    "OptOutOwner",
    "OptOutRequest",
    "OptOutScope",
    "OptOutSource",
    "OwnedOptOut",
    "Suppression",
    "api",
    "as_suppression_record",
    "delete_opt_outs",
    "due_notes",
    "emit_opt_out_events",
    "find_suppressed",
    "is_suppressed",
    "lift",
    "opt_out_page",
    "opt_outs_everywhere",
    "opt_outs_of",
    "opt_phone_out",
    "read_opt_out_request",
    "scope_of_sender",
    "store_opt_outs",
    "suppress",
    "suppress_and_lift",
]
