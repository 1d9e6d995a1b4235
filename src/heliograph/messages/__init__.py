"""Sending: accepted, paid once, handed to a carrier, and followed until its delivery is known."""

from heliograph.messages.accept import FACTS, Acceptor, load_tariff
from heliograph.messages.answer import send_answer
from heliograph.messages.api import endpoints
from heliograph.messages.batch import Outcome
from heliograph.messages.block import Person, fail_blocked
from heliograph.messages.chunk import (
    ACCOUNT_SUSPENDED,
    DAILY_CAP_REACHED,
    INSUFFICIENT_CREDITS,
    SENDER_NOT_APPROVED,
    Chunk,
    Chunker,
    Recipient,
    Wanted,
)
from heliograph.messages.companion import Aboard, Companion
from heliograph.messages.crowded import drop_too_many
from heliograph.messages.doubts import match_doubts
from heliograph.messages.fair import HELD_FROM_US, RESTORED_FROM_US, FairQueue, Places
from heliograph.messages.groups import Tally, cancel_group, mark_held, open_group, tally_of
from heliograph.messages.hold import fail_canceled, fail_queued, hold, release
from heliograph.messages.judge import AccountFacts, Plan, Tariff, approved_sender
from heliograph.messages.measure import Waiting, count_in_doubt, count_waiting
from heliograph.messages.parked import learn_id_format, rematch
from heliograph.messages.read import one_time_passwords
from heliograph.messages.receipts import CarrierFacts
from heliograph.messages.request import VALIDITY_DEFAULT_S, VALIDITY_S, SendRequest, read_send
from heliograph.messages.sealing import text_sealer
from heliograph.messages.sweep import fail_expired, fail_over, settle_doubts, take_over, unreceipted
from heliograph.messages.tables import KEPT
from heliograph.messages.turn import Turn
from heliograph.messages.unapproved import accept_or_tell
from heliograph.messages.waiting import account_ends

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
