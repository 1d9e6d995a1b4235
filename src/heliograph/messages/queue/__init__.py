"""Keeps the queue of runs: its columns, its order and its length."""

from heliograph.messages.queue.depths import account_ends, messages_of_carrier
from heliograph.messages.queue.metrics import WaitingMessages, count_in_doubt, count_waiting
from heliograph.messages.queue.of_account import count_queued, queued_messages
from heliograph.messages.queue.rank import (
    BULK_FROM_US,
    HELD_FROM_US,
    FairQueue,
    Ranks,
)

__all__ = [
    "BULK_FROM_US",
    "HELD_FROM_US",
    "FairQueue",
    "Ranks",
    "WaitingMessages",
    "account_ends",
    "count_in_doubt",
    "count_queued",
    "count_waiting",
    "messages_of_carrier",
    "queued_messages",
]
