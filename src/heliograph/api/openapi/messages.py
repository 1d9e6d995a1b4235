"""Describes POST /sms/send, GET /messages/{id}, GET /reports and GET /campaigns/{id}/messages."""

from typing import Final

from heliograph.api.openapi.parts import (
    COUNTRY_PATTERN,
    CURSOR,
    CUSTOMER_ID,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    SINCE,
    UNTIL,
    Json,
    Operation,
    ResponseLink,
    a_list,
    also,
    array,
    example_id,
    flag,
    form,
    identity,
    integer,
    limit,
    moment,
    one_of,
    one_record,
    path_id,
    query,
    query_text,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.messages.accept import (
    RECIPIENTS_PER_SEND_MAX,
    REFERENCE_MAX,
    TEXT_CHARACTERS_MAX,
)
from heliograph.messages.read.replies import REPLIES_MAX
from heliograph.messages.states import VALIDITY_S
from heliograph.messages.tables import ERROR_CODES, SEND_TYPES, STATUSES
from heliograph.text import GSM_7, SEGMENTS_MAX, UCS_2

TAG: Final = "Messages"

REJECTIONS: Final = ("invalid_number", "country_not_allowed", "no_route", "no_rate", "opted_out")

_FIELDS: Final[dict[str, Json]] = {
    "id": identity("msg", "The message's id."),
    "send_id": identity("snd", "The send it belongs to."),
    "campaign_id": identity("cmp", "The campaign it belongs to, if any.", nullable=True),
    "type": one_of(SEND_TYPES, "The kind of message."),
    "sender": text("The sender that the message comes from."),
    "recipient": text(
        "The recipient's number, E.164 digits without plus. Null once retention has removed it.",
        nullable=True,
        pattern="^[0-9]{7,15}$",
    ),
    "country_code": text(
        "The recipient's country. Null for a number of no country, such as +800.",
        nullable=True,
        pattern="^[A-Z]{2}$",
    ),
    "message": text(
        "The text. Null for one-time passwords, and once retention has removed it.", nullable=True
    ),
    "encoding": one_of((GSM_7, UCS_2), "The encoding of the text on the air."),
    "segments": integer(
        "How many short messages it takes on the air.", minimum=1, maximum=SEGMENTS_MAX
    ),
    "credits": integer("The credits charged for it.", minimum=0),
    "credits_refunded": integer(
        "The credits paid back, because no carrier accepted it.", minimum=0
    ),
    "status": one_of(
        STATUSES,
        "`queued` → `sent` (a carrier accepted it) → `delivered`, or `failed`. A status never goes"
        " back.",
    ),
    "error": {
        "type": ["object", "null"],
        "description": "Why it failed. Null for a message that has not failed.",
        "required": ["code", "message"],
        "properties": {
            "code": one_of(ERROR_CODES, "The reason, for programs."),
            "message": text("The reason, for people.", nullable=True),
        },
    },
    "reference": text("The `reference` of its send.", nullable=True),
    "sandbox": flag("True for a message of a sandbox key."),
    "created_at": moment("When it was accepted."),
    "sent_at": moment("When a carrier had accepted all its segments.", nullable=True),
    "delivered_at": moment("When it was delivered.", nullable=True),
    "failed_at": moment("When it failed.", nullable=True),
}
_MOMENT: Final = record(
    "One change of the status.",
    status=one_of(STATUSES, "The new status."),
    at=moment("When it changed."),
    detail=text("The reason of a failure.", nullable=True),
)

SCHEMAS: Final[dict[str, Json]] = {
    "RejectedRecipient": record(
        "A recipient to whom nothing is sent.",
        index=integer("Its place in `recipients`.", minimum=0),
        recipient=text("The recipient as you gave it. A long one is cut, with an ellipsis."),
        reason=one_of(REJECTIONS, "Why nothing is sent."),
    ),
    "MessageRecord": record("A text to one recipient.", **_FIELDS),
    "MessageWithTimeline": record(
        "A message with the changes of its status, and what answers what.",
        **_FIELDS,
        timeline=array(_MOMENT, "Every change of the status, oldest first."),
        in_reply_to=identity(
            "inb", "The inbound text that it answers, as its send said.", nullable=True
        ),
        replies=array(
            identity("inb", "The id of an inbound text."),
            f"The inbound texts that answer it, oldest first: of many, the newest {REPLIES_MAX}.",
        ),
    ),
    "SendForm": form(
        "A text and its recipients.",
        required=["sender", "message", "recipients"],
        sender=also(
            text("An approved sender ID of the account, in any case.", minLength=3, maxLength=15),
            "from",
        ),
        message=also(
            text(
                f"The text, at most {SEGMENTS_MAX} segments. One segment holds 160 GSM-7"
                " characters, or 153 if there are several. With any other character it holds 70,"
                " or 67 if there are several. The text is never altered.",
                minLength=1,
                maxLength=TEXT_CHARACTERS_MAX,
            ),
            "body",
        ),
        recipients=also(
            array(
                {"type": "string"},
                "Phone numbers in international digits, or as dialled in the country of"
                " `countryCode`. Without `countryCode`, a number with one leading 0 is read as"
                " dialled in the account's own country. Spaces, `-`, `.`, `(`, `)` and a leading"
                " `+` or `00` are understood. Invalid numbers do not stop the others: they are"
                " listed in `rejected`. A single number may be given as a string.",
                minItems=1,
                maxItems=RECIPIENTS_PER_SEND_MAX,
            ),
            "to",
        ),
        countryCode=also(
            text(
                "The country whose dialling rules numbers without `+` or `00` are read by, ISO"
                " 3166-1 alpha-2.",
                nullable=True,
                pattern=COUNTRY_PATTERN,
            ),
            "country_code",
        ),
        reference=text(
            "Your reference. Messages and reports repeat it.",
            nullable=True,
            minLength=1,
            maxLength=REFERENCE_MAX,
        ),
        validity_s=integer(
            "For how many seconds delivery is tried. The default is a day.",
            nullable=True,
            minimum=VALIDITY_S[0],
            maximum=VALIDITY_S[1],
        ),
        max_segments=integer(
            "Refuses a text that takes more segments than this.",
            nullable=True,
            minimum=1,
            maximum=SEGMENTS_MAX,
        ),
        dry_run=flag(
            "Checks and prices the request. Nothing is stored, sent or charged.", nullable=True
        ),
        in_reply_to=text(
            "The id of the inbound text that this answers, of the same account and mode. It takes"
            " one recipient. `GET /messages/{id}` shows it. An answer to a text of the last 24"
            " hours that asks for help, such as HELP, reaches who has opted out, too: two for each"
            " text.",
            nullable=True,
            minLength=1,
            maxLength=64,
        ),
        transactional=flag(
            "Sends to those who have opted out, too, if whoever runs this service has allowed the"
            " account to do so; else it is refused.",
            nullable=True,
        ),
        customer_id=CUSTOMER_ID_FIELD,
    ),
    "Send": record(
        "A send that was accepted. Its messages are stored, paid and queued.",
        send_id=identity("snd", "The send's id. Null in a dry run.", nullable=True),
        type=one_of(SEND_TYPES, "The kind of its messages."),
        status=one_of(("queued", "dry_run"), "`queued` for a real send."),
        message_id=identity("msg", "The message's id, if there is exactly one.", nullable=True),
        message_ids=array(
            identity("msg", "Null for a rejected recipient.", nullable=True),
            "`message_ids[i]` belongs to `recipients[i]`. It is null for a rejected recipient. A"
            " duplicate has the id of the first.",
        ),
        accepted=integer("How many messages are sent.", minimum=0),
        duplicates=integer("How many recipients were duplicates of others.", minimum=0),
        rejected=array(ref("RejectedRecipient"), "Recipients to whom nothing is sent."),
        encoding=one_of((GSM_7, UCS_2), "The encoding of the text on the air."),
        segments=integer("How many segments each message takes.", minimum=1, maximum=SEGMENTS_MAX),
        credits_required=integer("The price in credits.", minimum=0),
        credits_used=integer(
            "The credits charged: the price, or 0 in sandbox and in a dry run.", minimum=0
        ),
        credits_remaining=integer("The credits left in the wallet.", minimum=0),
        reference=text("Your reference.", nullable=True),
        sandbox=flag("True for a send of a sandbox key."),
        created_at=moment("When it was accepted."),
    ),
}

MESSAGE_EXAMPLE: Final[Json] = {
    "id": example_id("msg", 1),
    "send_id": example_id("snd"),
    "campaign_id": None,
    "type": "sms",
    "sender": "AMINA",
    "recipient": EXAMPLE_PHONE,
    "country_code": "GH",
    "message": "Your order 1042 is on its way.",
    "encoding": GSM_7,
    "segments": 1,
    "credits": 1,
    "credits_refunded": 0,
    "status": "delivered",
    "error": None,
    "reference": "order-1042",
    "sandbox": False,
    "created_at": EXAMPLE_AT,
    "sent_at": EXAMPLE_AT.replace(".000", ".184"),
    "delivered_at": EXAMPLE_AT.replace("00.000", "02.310"),
    "failed_at": None,
}
_TIMELINE_EXAMPLE: Final = [
    {"status": "queued", "at": MESSAGE_EXAMPLE["created_at"], "detail": None},
    {"status": "sent", "at": MESSAGE_EXAMPLE["sent_at"], "detail": None},
    {"status": "delivered", "at": MESSAGE_EXAMPLE["delivered_at"], "detail": None},
]
_SEND_EXAMPLE: Final[Json] = {
    "send_id": example_id("snd"),
    "type": "sms",
    "status": "queued",
    "message_id": example_id("msg", 1),
    "message_ids": [example_id("msg", 1)],
    "accepted": 1,
    "duplicates": 0,
    "rejected": [],
    "encoding": GSM_7,
    "segments": 1,
    "credits_required": 1,
    "credits_used": 0,
    "credits_remaining": 998,
    "reference": "order-1042",
    "sandbox": True,
    "created_at": EXAMPLE_AT,
}

_FILTERS: Final = (
    query_text("send_id", "Only messages of this send.", 256, example_id("snd")),
    query(
        "status",
        "Only messages of this status.",
        {"type": "string", "enum": list(STATUSES)},
        "delivered",
    ),
    query(
        "type", "Only messages of this type.", {"type": "string", "enum": list(SEND_TYPES)}, "sms"
    ),
    query(
        "recipient",
        "Only messages to this phone number, in international digits.",
        {"type": "string", "minLength": 7, "maxLength": 64},
        EXAMPLE_PHONE,
    ),
    query_text(
        "sender",
        "Only messages from this sender. Senders are compared without case.",
        256,
        "AMINA",
    ),
    query_text(
        "reference", "Only messages of sends with this reference.", REFERENCE_MAX, "order-1042"
    ),
    SINCE,
    UNTIL,
    CUSTOMER_ID,
)

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("POST", "/sms/send"): Operation(
        TAG,
        "Send an SMS",
        f"Sends one text to 1 to {RECIPIENTS_PER_SEND_MAX:,} recipients. A 200 means that every"
        " message is stored, paid and queued: it survives a crash of the service. Invalid numbers"
        " are listed in `rejected`, and duplicates are counted in `duplicates`; neither costs"
        " anything. If there are too few credits for all of it, nothing is sent.\n\nWith a sandbox"
        " key nothing is really sent and nothing is charged. The last three digits of a recipient"
        " choose the outcome: `000` is not delivered, `001` is refused, `002` expires, and `003`"
        " is delivered after 30 s. `004` answers the send with 402, as if the wallet were empty."
        " Any other number is delivered within 1 s.",
        with_warnings(one_record(ref("Send"))),
        {"data": _SEND_EXAMPLE},
        body=ref("SendForm"),
        body_example={
            "sender": "SANDBOX",
            "message": "Your order 1042 is on its way.",
            "recipients": [EXAMPLE_PHONE],
            "reference": "order-1042",
        },
        reasons=(
            "no_such_record",
            "sender_not_approved",
            "no_valid_recipient",
            "too_many_segments",
            "insufficient_credits",
            "daily_cap_reached",
        ),
        links=(
            ResponseLink("firstMessage", ("GET", "/messages/{id}"), "id", "/data/message_ids/0"),
            ResponseLink("itsMessages", ("GET", "/reports"), "send_id", "/data/send_id"),
        ),
    ),
    ("GET", "/messages/{id}"): Operation(
        TAG,
        "Delivery status of a message",
        "Shows one message with every change of its status.",
        one_record(ref("MessageWithTimeline")),
        {
            "data": {
                **MESSAGE_EXAMPLE,
                "timeline": _TIMELINE_EXAMPLE,
                "in_reply_to": None,
                "replies": [example_id("inb")],
            }
        },
        parameters=(
            path_id("The message's id, from the answer of the send.", example_id("msg", 1)),
            CUSTOMER_ID,
        ),
    ),
    ("GET", "/reports"): Operation(
        TAG,
        "Recent messages",
        "Lists your messages of this mode, newest first. The filters can be combined. A page may"
        " hold fewer records than `limit`, even none, and still have a `next_cursor`: go on until"
        " it is null.",
        a_list(ref("MessageRecord")),
        {"data": [MESSAGE_EXAMPLE], "next_cursor": None},
        parameters=(
            limit(),
            CURSOR,
            also(
                query_text(
                    "campaignId",
                    "Only messages of this campaign. An unknown campaign is answered with 404.",
                    256,
                ),
                "campaign_id",
            ),
            *_FILTERS,
        ),
        reasons=("no_such_record",),
    ),
    ("GET", "/campaigns/{id}/messages"): Operation(
        TAG,
        "Messages of a campaign",
        "Lists the messages of one campaign, newest first. It is the same as"
        " `/reports?campaignId=`, with the same filters.",
        a_list(ref("MessageRecord")),
        {"data": [MESSAGE_EXAMPLE], "next_cursor": None},
        parameters=(path_id("The campaign's id.", example_id("cmp")), limit(), CURSOR, *_FILTERS),
    ),
}
