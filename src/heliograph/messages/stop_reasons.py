"""Names why a chunk of messages is not accepted, or only in part: `status_reason` of a campaign."""

from typing import Final

INSUFFICIENT_CREDITS: Final = "insufficient_credits"
DAILY_CAP_REACHED: Final = "daily_cap_reached"
SENDER_NOT_APPROVED: Final = "sender_not_approved"
ACCOUNT_SUSPENDED: Final = "account_suspended"  # or closed
