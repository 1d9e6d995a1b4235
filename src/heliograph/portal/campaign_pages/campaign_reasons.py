"""Says what a person can do about a campaign that has stopped, in plain words, by its
`status_reason` (docs/campaigns.md, "When credits run short").
"""

from typing import Final

from heliograph.portal.languages import marked

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
