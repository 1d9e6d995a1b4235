"""Sending: accepted, paid once, handed to a carrier, and followed until its delivery is known."""

from heliograph.messages.accept import Acceptor, Outcome
from heliograph.messages.api import endpoints
from heliograph.messages.companion import Aboard, Companion
from heliograph.messages.doubts import match_doubts
from heliograph.messages.fair import FairQueue
from heliograph.messages.parked import learn_id_format, rematch
from heliograph.messages.receipts import CarrierFacts
from heliograph.messages.request import SendRequest
from heliograph.messages.sealing import text_sealer
from heliograph.messages.sweep import fail_expired, fail_over, queue_depths, settle_doubts, take_over, unreceipted
from heliograph.messages.tables import KEPT
from heliograph.messages.turn import Turn
from heliograph.messages.waiting import account_ends

__all__ = ["KEPT", "Aboard", "Acceptor", "CarrierFacts", "Companion", "FairQueue", "Outcome", "SendRequest", "Turn", "account_ends", "endpoints",
           "fail_expired", "fail_over", "learn_id_format", "match_doubts", "queue_depths", "rematch", "settle_doubts", "take_over", "text_sealer",
           "unreceipted"]
