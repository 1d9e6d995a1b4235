"""Manages campaigns: one text for many people is stored, paid for, and sent chunk by chunk."""

from heliograph.campaigns.audience.audience_lock import take_from_dead_processes
from heliograph.campaigns.audience.forget_recipients import forget_some
from heliograph.campaigns.audience.numbers_file import Numbers
from heliograph.campaigns.audience.price import Quote
from heliograph.campaigns.campaign import Campaign, find, of_groups, page, text_id
from heliograph.campaigns.campaign_record import as_record, progress_of
from heliograph.campaigns.draft import (
    create,
    read_campaign_request,
    read_preview_request,
    senders_for,
)
from heliograph.campaigns.from_file import FileResult, create_listed
from heliograph.campaigns.lifecycle import (
    audience_size,
    cancel,
    estimate,
    launch,
    pause,
    resume,
    schedule,
    start_due,
    start_soon,
)
from heliograph.campaigns.quick_quote import QuickQuote, quick_quote
from heliograph.campaigns.start_time import read_start_time

__all__ = [
    "Campaign",
    "FileResult",
    "Numbers",
    "QuickQuote",
    "Quote",
    "advance",
    "api",
    "as_record",
    "audience_size",
    "cancel",
    "create",
    "create_listed",
    "estimate",
    "find",
    "forget_some",
    "launch",
    "of_groups",
    "page",
    "pause",
    "previews",
    "progress_of",
    "quick_quote",
    "read_campaign_request",
    "read_preview_request",
    "read_start_time",
    "restored",
    "resume",
    "schedule",
    "senders_for",
    "start_due",
    "start_soon",
    "states",
    "take_from_dead_processes",
    "text_id",
]
