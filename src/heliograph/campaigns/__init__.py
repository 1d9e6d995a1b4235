"""This room knows campaigns: one text for many people is written down, paid for, and sent chunk
by chunk.
"""

from heliograph.campaigns.api import endpoints
from heliograph.campaigns.audience import look
from heliograph.campaigns.campaign import Audience, Campaign, by_id, find, page, text_id
from heliograph.campaigns.draft import Wish, create, read_wish
from heliograph.campaigns.from_file import Listed, create_listed
from heliograph.campaigns.lifecycle import (
    Launched,
    audience_size,
    cancel,
    estimate,
    launch,
    pause,
    resume,
    schedule,
    start_due,
)
from heliograph.campaigns.numbers_file import BadRow, Numbers
from heliograph.campaigns.preview import Unfilled, sample, unfilled
from heliograph.campaigns.price import Pricing, Quote
from heliograph.campaigns.record import as_record
from heliograph.campaigns.start_time import When, read_time, read_when
from heliograph.campaigns.states import WrongState

__all__ = [
    "Audience",
    "BadRow",
    "Campaign",
    "Launched",
    "Listed",
    "Numbers",
    "Pricing",
    "Quote",
    "Unfilled",
    "When",
    "Wish",
    "WrongState",
    "as_record",
    "audience_size",
    "by_id",
    "cancel",
    "create",
    "create_listed",
    "endpoints",
    "estimate",
    "find",
    "launch",
    "look",
    "page",
    "pause",
    "read_time",
    "read_when",
    "read_wish",
    "resume",
    "sample",
    "schedule",
    "start_due",
    "text_id",
    "unfilled",
]
