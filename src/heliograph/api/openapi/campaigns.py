"""Describes GET /campaigns."""

from typing import Final

from heliograph.api.openapi.parts import (
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
from heliograph.campaigns.tables import STATUSES

TAG: Final = "Campaigns"

_FIELDS: Final[dict[str, Json]] = {
    "id": identity("cmp", "The campaign's id."),
    "name": text("The name that it was given."),
    "status": one_of(
        STATUSES,
        "`failed` means that it was scheduled and could not start. `completed` means that none of"
        " its messages is queued any more. Delivery receipts may still come.",
    ),
    "status_reason": text(
        "Why it is `paused`, `failed` or `canceled`, in a word such as `insufficient_credits`. Null"
        " if there is nothing to explain.",
        nullable=True,
    ),
    "sender": text("The sender that the messages come from."),
    "message": text("The text, with its placeholders."),
    "recipients_total": integer(
        "How many recipients it had at its launch, without those who had opted out. 0 before its"
        " launch.",
        minimum=0,
    ),
    "scheduled_at": moment("When it starts by itself.", nullable=True),
    "started_at": moment("When it was launched.", nullable=True),
    "completed_at": moment("When the last of its messages left the queue.", nullable=True),
    "created_at": moment("When it was created."),
    "sandbox": flag("True for a campaign of the sandbox."),
}

SCHEMAS: Final[dict[str, Json]] = {
    "Campaign": record("One text to many recipients.", **_FIELDS),
    "CampaignWithStatistics": record(
        "A campaign with its statistics.",
        **_FIELDS,
        statistics={"description": "Its messages, counted by status.", **ref("CampaignStatistics")},
    ),
    "CampaignStatistics": record(
        "A campaign's messages, counted by their present status.",
        queued=integer("Messages that no carrier has accepted yet.", minimum=0),
        sent=integer(
            "Messages that a carrier has accepted and that are not yet known to be delivered.",
            minimum=0,
        ),
        delivered=integer("Messages that were delivered.", minimum=0),
        failed=integer("Messages that failed.", minimum=0),
        segments=integer("Segments of all its messages.", minimum=0),
        credits_used=integer("Credits charged, less credits refunded. 0 in sandbox.", minimum=0),
        delivery_rate={
            "type": ["number", "null"],
            "minimum": 0,
            "maximum": 1,
            "description": (
                "The share of messages delivered among those sent, delivered or failed, rounded"
                " down. Null while there are none."
            ),
        },
    ),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("cmp"),
    "name": "Spring offers",
    "status": "completed",
    "status_reason": None,
    "sender": "AMINA",
    "message": "Hi {name|friend}, mangoes are back.",
    "recipients_total": 4,
    "scheduled_at": None,
    "started_at": EXAMPLE_AT,
    "completed_at": EXAMPLE_AT.replace("00.000", "01.250"),
    "created_at": EXAMPLE_AT,
    "sandbox": False,
}
_STATISTICS: Final[Json] = {
    "queued": 0,
    "sent": 0,
    "delivered": 3,
    "failed": 1,
    "segments": 4,
    "credits_used": 3,
    "delivery_rate": 0.75,
}

STATISTICS_EXAMPLE: Final[Json] = {**_EXAMPLE, "statistics": _STATISTICS}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/campaigns"): Operation(
        TAG,
        "List campaigns",
        "Lists your campaigns of this mode, newest first, without statistics. With `customer_id` it"
        " lists those of a Connect customer.",
        a_list(ref("Campaign")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(
            limit(),
            CURSOR,
            query(
                "status",
                "Only campaigns of this status.",
                {"type": "string", "enum": list(STATUSES)},
                "completed",
            ),
            CUSTOMER_ID,
        ),
        reasons=("no_such_record",),
    ),
    ("GET", "/campaigns/{id}"): Operation(
        TAG,
        "A campaign with statistics",
        "Shows one campaign, with its messages counted by their present status. The messages"
        " themselves are in `/reports?campaignId=`.",
        one_record(ref("CampaignWithStatistics")),
        {"data": STATISTICS_EXAMPLE},
        parameters=(path_id("The campaign's id.", example_id("cmp")), CUSTOMER_ID),
    ),
}
