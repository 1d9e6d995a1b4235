"""This room sends messages: they are accepted, paid once, handed to a carrier, and followed
until their delivery is known.
"""

from heliograph.messages.accept.acceptor import FACTS, Acceptor, load_tariff
from heliograph.messages.accept.answer import send_answer
from heliograph.messages.accept.batch import Outcome
from heliograph.messages.accept.chunk import (
    ACCOUNT_SUSPENDED,
    DAILY_CAP_REACHED,
    INSUFFICIENT_CREDITS,
    SENDER_NOT_APPROVED,
    Chunk,
    Chunker,
    Recipient,
    Wanted,
)
from heliograph.messages.accept.extension import Aboard, Companion
from heliograph.messages.accept.judge import AccountFacts, approved_sender
from heliograph.messages.accept.request import (
    VALIDITY_DEFAULT_S,
    VALIDITY_S,
    SendRequest,
    read_send,
)
from heliograph.messages.accept.sealed_text import text_sealer
from heliograph.messages.accept.tariff import Plan, Tariff
from heliograph.messages.accept.unapproved_sender import accept_or_tell
from heliograph.messages.api import endpoints
from heliograph.messages.carrier.match import learn_id_format, rematch
from heliograph.messages.carrier.refs import CarrierFacts
from heliograph.messages.carrier.turn import Turn
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.groups import Tally, cancel_group, mark_held, open_group, tally_of
from heliograph.messages.queue.depths import account_ends
from heliograph.messages.queue.metrics import Waiting, count_in_doubt, count_waiting
from heliograph.messages.queue.rank import HELD_FROM_US, RESTORED_FROM_US, FairQueue, Places
from heliograph.messages.read import one_time_passwords
from heliograph.messages.retention.unmatched_limit import drop_too_many
from heliograph.messages.sweeps.opt_out import Person, fail_blocked
from heliograph.messages.sweeps.pause import fail_canceled, fail_queued, hold, release
from heliograph.messages.sweeps.sweep import (
    fail_expired,
    fail_over,
    settle_doubts,
    take_over,
    unreceipted,
)
from heliograph.messages.tables import KEPT

__all__ = [
    "ACCOUNT_SUSPENDED",
    "DAILY_CAP_REACHED",
    "FACTS",
    "HELD_FROM_US",
    "INSUFFICIENT_CREDITS",
    "KEPT",
    "RESTORED_FROM_US",
    "SENDER_NOT_APPROVED",
    "VALIDITY_DEFAULT_S",
    "VALIDITY_S",
    "Aboard",
    "Acceptor",
    "AccountFacts",
    "CarrierFacts",
    "Chunk",
    "Chunker",
    "Companion",
    "FairQueue",
    "Outcome",
    "Person",
    "Places",
    "Plan",
    "Recipient",
    "SendRequest",
    "Tally",
    "Tariff",
    "Turn",
    "Waiting",
    "Wanted",
    "accept_or_tell",
    "account_ends",
    "approved_sender",
    "cancel_group",
    "count_in_doubt",
    "count_waiting",
    "drop_too_many",
    "endpoints",
    "fail_blocked",
    "fail_canceled",
    "fail_expired",
    "fail_over",
    "fail_queued",
    "hold",
    "learn_id_format",
    "load_tariff",
    "mark_held",
    "match_doubts",
    "one_time_passwords",
    "open_group",
    "read_send",
    "release",
    "rematch",
    "send_answer",
    "settle_doubts",
    "take_over",
    "tally_of",
    "text_sealer",
    "unreceipted",
]
