"""Says in plain words why lines of a campaign's file were left out, and what a person can do about
a campaign that has stopped, by its `status_reason` (docs/campaigns.md, "When credits run short").
"""

from typing import Final

from heliograph.portal.languages import marked

# by `LeftOutReason`
LEFT_OUT: Final = {
    "unreadable": marked("the line cannot be read"),
    "too_many_columns": marked("more columns than the first line"),
    "no_number": marked("no number"),
    "invalid_number": marked("not a valid number"),
    "bad_value": marked("a value that is too long, or has U+0000"),
    "bad_text": marked("a text that is empty or too long"),
}
REASONS: Final = {
    "insufficient_credits": marked(
        "The wallet holds too few credits. A paused campaign goes on by itself after a top-up."
    ),
    "daily_cap_reached": marked(
        "The account has reached its daily cap. The campaign goes on by itself on the next day"
        " (UTC), and so on each day, until all of it has left."
    ),
    "sender_not_approved": marked(
        "Its sender is not approved any more. Ask the operator of this service about it."
    ),
    "account_suspended": marked(
        "The account was suspended. Ask the operator of this service about it."
    ),
    "no_recipients": marked("When its time came, there was nobody to send it to."),
    "storage_quota_reached": marked(
        "The account has stored as much as it may. Ask the operator of this service for more."
    ),
    "recipients_erased": marked(
        "Nobody launched or resumed it for so long that its recipients' numbers were erased."
    ),
}
