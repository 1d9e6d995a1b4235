"""Reads messages as clients see them, with what they were charged and what answers them. It changes
nothing but which texts answer which messages.
"""

from heliograph.messages.read.message import (
    CAMPAIGN_PREFIX,
    INBOUND_PREFIX,
    MESSAGE_PREFIX,
    OTP,
    SEND_PREFIX,
    Message,
    as_record,
    handed_to,
    message_of,
    one_time_passwords,
    timeline,
)
from heliograph.messages.read.report_page import LOOKED_AT_MAX, Filters, Page, report

__all__ = [
    "CAMPAIGN_PREFIX",
    "INBOUND_PREFIX",
    "LOOKED_AT_MAX",
    "MESSAGE_PREFIX",
    "OTP",
    "SEND_PREFIX",
    "Filters",
    "Message",
    "Page",
    "as_record",
    "charges",
    "handed_to",
    "message_of",
    "newest_texts",
    "one_time_passwords",
    "replies",
    "report",
    "timeline",
]
