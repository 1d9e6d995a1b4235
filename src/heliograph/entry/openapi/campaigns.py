"""GET /campaigns, described."""

from typing import Final

from heliograph.campaigns.tables import STATUSES
from heliograph.entry.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    EXAMPLE_AT,
    Json,
    Operation,
    a_list,
    example_id,
    flag,
    identity,
    integer,
    limit,
    moment,
    one_of,
    one_record,
    path_id,
    query,
    record,
    ref,
    text,
)

TAG: Final = "Campaigns"

_FIELDS: Final[dict[str, Json]] = {
    "id": identity("cmp", "The campaign's id."),
    "name": text("As it was given."),
    "status": one_of(STATUSES, "`failed`: it was scheduled, and could not start. `completed`: none of its messages is queued any more; their "
                               "receipts may still come."),
    "status_reason": text("Why it is `paused`, has `failed`, or was `canceled` by itself, in a word such as `insufficient_credits`; null otherwise.",
                          nullable=True),
    "sender": text("Whom it comes from."),
    "message": text("The text, with its placeholders."),
    "recipients_total": integer("Those who were to get it when it was launched, without who had opted out; 0 before.", minimum=0),
    "scheduled_at": moment("When it is, or was, to start by itself.", nullable=True),
    "started_at": moment("When it was launched.", nullable=True),
    "completed_at": moment("When the last of its messages was queued no more.", nullable=True),
    "created_at": moment("When it was written down."),
    "sandbox": flag("Whether it is of the sandbox."),
}

SCHEMAS: Final[dict[str, Json]] = {
    "Campaign": record("One text for many.", **_FIELDS),
    "CampaignWithStatistics": record("A campaign, and what has become of its messages.", **_FIELDS,
                                     statistics={"description": "What has become of its messages.", **ref("CampaignStatistics")}),
    "CampaignStatistics": record(
        "A campaign's messages by present status.",
        queued=integer("Not yet with a carrier.", minimum=0),
        sent=integer("With a carrier; not yet known to be delivered.", minimum=0),
        delivered=integer("Delivered.", minimum=0),
        failed=integer("Failed.", minimum=0),
        segments=integer("Of all its messages.", minimum=0),
        credits_used=integer("Charged, less what was refunded; 0 in sandbox.", minimum=0),
        delivery_rate={"type": ["number", "null"], "minimum": 0, "maximum": 1,
                       "description": "Delivered of those sent, delivered or failed, rounded down; null while there is none."}),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("cmp"), "name": "Spring offers", "status": "completed", "status_reason": None, "sender": "AMINA",
    "message": "Hi {name|friend}, mangoes are back.", "recipients_total": 4, "scheduled_at": None, "started_at": EXAMPLE_AT,
    "completed_at": EXAMPLE_AT.replace("00.000", "01.250"), "created_at": EXAMPLE_AT, "sandbox": False}  # fmt: skip
_STATISTICS: Final[Json] = {"queued": 0, "sent": 0, "delivered": 3, "failed": 1, "segments": 4, "credits_used": 3, "delivery_rate": 0.75}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/campaigns"): Operation(
        TAG, "List campaigns", "Your campaigns of this mode, newest first, without statistics; with `customer_id` those of a Connect customer.",
        a_list(ref("Campaign")), {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(limit(), CURSOR, query("status", "Only campaigns of this status.", {"type": "string", "enum": list(STATUSES)}, "completed"),
                    CUSTOMER_ID),
        reasons=("no_such_record",)),
    ("GET", "/campaigns/{id}"): Operation(
        TAG, "A campaign with statistics", "One campaign, with its messages counted by present status. Its messages are in `/reports?campaignId=`.",
        one_record(ref("CampaignWithStatistics")), {"data": {**_EXAMPLE, "statistics": _STATISTICS}},
        parameters=(path_id("The campaign's id.", example_id("cmp")), CUSTOMER_ID)),
}
