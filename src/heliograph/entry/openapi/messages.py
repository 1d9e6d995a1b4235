"""POST /sms/send, GET /messages/{id} and GET /reports, described."""

from typing import Final

from heliograph.entry.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    SINCE,
    UNTIL,
    Json,
    Link,
    Operation,
    a_list,
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
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.messages.request import RECIPIENTS_PER_SEND_MAX, REFERENCE_MAX, TEXT_CHARACTERS_MAX, VALIDITY_S
from heliograph.messages.tables import ERROR_CODES, SEND_TYPES, STATUSES
from heliograph.text import GSM_7, SEGMENTS_MAX, UCS_2

TAG: Final = "Messages"

_SENDER: Final[Json] = {"minLength": 3, "maxLength": 15}
_RECIPIENTS: Final[Json] = {
    "anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": RECIPIENTS_PER_SEND_MAX}, {"type": "string"}]}
_COUNTRY: Final = "^[A-Za-z]{2}$"
REJECTIONS: Final = ("invalid_number", "country_not_allowed", "no_route", "no_rate", "opted_out")
REJECTED: Final = record(
    "A recipient to whom nothing goes.", index=integer("Its place in `recipients`.", minimum=0),
    recipient=text("As it was given; of a long one the beginning and an ellipsis."), reason=one_of(REJECTIONS, "Why."))

_FIELDS: Final[dict[str, Json]] = {
    "id": identity("msg", "The message's id."),
    "send_id": identity("snd", "The send it belongs to."),
    "campaign_id": identity("cmp", "The campaign it belongs to, if any.", nullable=True),
    "type": one_of(SEND_TYPES, "What kind of message it is."),
    "sender": text("What it comes from."),
    "recipient": text("E.164 digits without plus; null once retention has removed it.", nullable=True, pattern="^[0-9]{7,15}$"),
    "country_code": text("The recipient's country; null for numbers of none, such as +800.", nullable=True, pattern="^[A-Z]{2}$"),
    "message": text("The text. Null for one-time passwords, and once retention has removed it.", nullable=True),
    "encoding": one_of((GSM_7, UCS_2), "How the text travels."),
    "segments": integer("Short messages on the air.", minimum=1, maximum=SEGMENTS_MAX),
    "credits": integer("What was charged for it.", minimum=0),
    "credits_refunded": integer("What was paid back, because no carrier accepted it.", minimum=0),
    "status": one_of(STATUSES, "`queued` → `sent` (a carrier accepted it) → `delivered`, or `failed`. A status never goes back."),
    "error": {"type": ["object", "null"], "description": "Why it failed; null otherwise.", "required": ["code", "message"], "properties": {
        "code": one_of(ERROR_CODES, "Why, for programs."), "message": text("Why, for people.", nullable=True)}},
    "reference": text("The `reference` of its send.", nullable=True),
    "sandbox": flag("Whether it was sent with a sandbox key."),
    "created_at": moment("When it was accepted."),
    "sent_at": moment("When a carrier had accepted all its segments.", nullable=True),
    "delivered_at": moment("When it was delivered.", nullable=True),
    "failed_at": moment("When it failed.", nullable=True),
}
_MOMENT: Final = record("One change of the status.", status=one_of(STATUSES, "What it became."), at=moment("When."),
                        detail=text("Why, for a failure.", nullable=True))

SCHEMAS: Final[dict[str, Json]] = {
    "Message": record("A text to one recipient.", **_FIELDS),
    "MessageWithTimeline": record("A message, and how it came to its status.", **_FIELDS, timeline=array(_MOMENT, "Oldest first.")),
    "SendForm": {
        **form(
            "A text, and whom it goes to.",
            sender=text("An approved sender ID of the account, in any case. Required, unless `from` is given.", **_SENDER),
            message=text(f"The text. Required, unless `body` is given. At most {SEGMENTS_MAX} segments: 160 GSM-7 characters are one, or 153 each of "
                         "several; 70 or 67 with any other character. It is never altered.", minLength=1, maxLength=TEXT_CHARACTERS_MAX),
            recipients={**_RECIPIENTS, "description": (
                "Phone numbers in international digits; with `countryCode` also as dialled in that country, and with a leading 0 "
                "as in the account's own. Spaces, `-`, `.`, `(`, `)` and a leading "
                "`+` or `00` are understood. A number that is none does not stop the others: it is listed in `rejected`. Required, unless `to` is "
                "given.")},
            countryCode=text("The country in which numbers without `+` or `00` are read, ISO 3166-1 alpha-2.", nullable=True, pattern=_COUNTRY),
            reference=text("A word of yours that messages and reports repeat.", nullable=True, minLength=1, maxLength=REFERENCE_MAX),
            validity_s=integer("Seconds after which it is not delivered any more; by default a day.", nullable=True, minimum=VALIDITY_S[0],
                               maximum=VALIDITY_S[1]),
            max_segments=integer("Refuses a longer text rather than paying for it.", nullable=True, minimum=1, maximum=SEGMENTS_MAX),
            dry_run=flag("Judges and prices everything; stores, sends and charges nothing.", nullable=True),
            customer_id=CUSTOMER_ID_FIELD,
            body=text("Another name of `message`.", minLength=1, maxLength=TEXT_CHARACTERS_MAX),
            to={**_RECIPIENTS, "description": "Another name of `recipients`."},
            country_code=text("Another name of `countryCode`.", nullable=True, pattern=_COUNTRY),
            **{"from": text("Another name of `sender`.", **_SENDER)}),
        "allOf": [{"anyOf": [{"required": ["sender"]}, {"required": ["from"]}]}, {"anyOf": [{"required": ["recipients"]}, {"required": ["to"]}]},
                  {"anyOf": [{"required": ["message"]}, {"required": ["body"]}]}]},
    "Send": record(
        "A send that was accepted: stored, paid and on its way.",
        send_id=identity("snd", "The send's id; null in a dry run.", nullable=True),
        type=one_of(SEND_TYPES, "What kind of messages it holds."),
        status=one_of(("queued", "dry_run"), "What became of the request."),
        message_id=identity("msg", "The message's id, when there is exactly one.", nullable=True),
        message_ids=array(identity("msg", "Null for a rejected recipient.", nullable=True),
                          "`message_ids[i]` belongs to `recipients[i]`: null if it was rejected, the first one's if it repeats a number."),
        accepted=integer("How many messages go out.", minimum=0),
        duplicates=integer("How many recipients repeated another one.", minimum=0),
        rejected=array(REJECTED, "Recipients to whom nothing goes."),
        encoding=one_of((GSM_7, UCS_2), "How the text travels."),
        segments=integer("Of each message.", minimum=1, maximum=SEGMENTS_MAX),
        credits_required=integer("The price.", minimum=0),
        credits_used=integer("What was charged: the price, or 0 in sandbox and in a dry run.", minimum=0),
        credits_remaining=integer("What the wallet holds after it.", minimum=0),
        reference=text("As it was given.", nullable=True),
        sandbox=flag("Whether a sandbox key sent it."),
        created_at=moment("When it was accepted."),
    ),
}

_MESSAGE_EXAMPLE: Final[Json] = {
    "id": example_id("msg", 1), "send_id": example_id("snd"), "campaign_id": None, "type": "sms", "sender": "AMINA", "recipient": EXAMPLE_PHONE,
    "country_code": "GH", "message": "Your order 1042 is on its way.", "encoding": GSM_7, "segments": 1, "credits": 1, "credits_refunded": 0,
    "status": "delivered", "error": None, "reference": "order-1042", "sandbox": False, "created_at": EXAMPLE_AT,
    "sent_at": EXAMPLE_AT.replace(".000", ".184"), "delivered_at": EXAMPLE_AT.replace("00.000", "02.310"), "failed_at": None}  # fmt: skip
_TIMELINE_EXAMPLE: Final = [
    {"status": "queued", "at": _MESSAGE_EXAMPLE["created_at"], "detail": None}, {"status": "sent", "at": _MESSAGE_EXAMPLE["sent_at"], "detail": None},
    {"status": "delivered", "at": _MESSAGE_EXAMPLE["delivered_at"], "detail": None}]  # fmt: skip
_SEND_EXAMPLE: Final[Json] = {
    "send_id": example_id("snd"), "type": "sms", "status": "queued", "message_id": example_id("msg", 1), "message_ids": [example_id("msg", 1)],
    "accepted": 1, "duplicates": 0, "rejected": [], "encoding": GSM_7, "segments": 1, "credits_required": 1, "credits_used": 1,
    "credits_remaining": 998, "reference": "order-1042", "sandbox": False, "created_at": EXAMPLE_AT}  # fmt: skip

_FILTERS: Final = (
    query("send_id", "Only messages of this send.", {"type": "string", "maxLength": 256}, example_id("snd")),
    query("status", "Only messages of this status.", {"type": "string", "enum": list(STATUSES)}, "delivered"),
    query("type", "Only messages of this type.", {"type": "string", "enum": list(SEND_TYPES)}, "sms"),
    query("recipient", "Only messages to this phone number, in international digits.", {"type": "string", "minLength": 7, "maxLength": 64},
          EXAMPLE_PHONE),
    query("reference", "Only messages of sends with this reference.", {"type": "string", "maxLength": REFERENCE_MAX},
          "order-1042"),
    SINCE, UNTIL, CUSTOMER_ID)

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("POST", "/sms/send"): Operation(
        TAG, "Send an SMS",
        f"Sends one text to 1 to {RECIPIENTS_PER_SEND_MAX:,} recipients. A 200 means that every message is stored, paid and queued: it survives a "
        "crash of ours. Numbers that are none, and repeated ones, are told apart in the answer and cost nothing. Too few credits: nothing is sent."
        "\n\n"
        "With a sandbox key nothing leaves the house and nothing is charged. The last three digits of a recipient choose what becomes of it: `000` "
        "undelivered, `001` refused, `002` expired, `003` delivered after 30 s, `004` answers the send with 402, as if the wallet were "
        "empty; anything else is delivered within 1 s.",
        with_warnings(one_record(ref("Send"))), {"data": _SEND_EXAMPLE}, body=ref("SendForm"),
        body_example={"sender": "AMINA", "message": "Your order 1042 is on its way.", "recipients": [EXAMPLE_PHONE], "reference": "order-1042"},
        reasons=("no_such_record", "sender_not_approved", "no_valid_recipient", "too_many_segments", "insufficient_credits", "daily_cap_reached"),
        links=(Link("firstMessage", ("GET", "/messages/{id}"), "id", "/data/message_ids/0"),
               Link("itsMessages", ("GET", "/reports"), "send_id", "/data/send_id"))),
    ("GET", "/messages/{id}"): Operation(
        TAG, "Delivery status of a message", "One message, with the times of its changes.", one_record(ref("MessageWithTimeline")),
        {"data": {**_MESSAGE_EXAMPLE, "timeline": _TIMELINE_EXAMPLE}},
        parameters=(path_id("The message's id, from the answer of the send.", example_id("msg", 1)), CUSTOMER_ID)),
    ("GET", "/reports"): Operation(
        TAG, "Recent messages",
        "Your messages of this mode, newest first, narrowed by any of the filters. A page may hold fewer than `limit` records, even none, and still "
        "have a `next_cursor`: go on until it is null.",
        a_list(ref("Message")), {"data": [_MESSAGE_EXAMPLE], "next_cursor": None},
        parameters=(
            limit(), CURSOR,
            query("campaignId", "Only messages of this campaign; an unknown one is 404.", {"type": "string", "maxLength": 256}),
            query("campaign_id", "Another name of `campaignId`.", {"type": "string", "maxLength": 256}),
            *_FILTERS),
        reasons=("no_such_record",)),
    ("GET", "/campaigns/{id}/messages"): Operation(
        TAG, "Messages of a campaign", "The same as `/reports?campaignId=`, with the same filters.",
        a_list(ref("Message")), {"data": [_MESSAGE_EXAMPLE], "next_cursor": None},
        parameters=(path_id("The campaign's id.", example_id("cmp")), limit(), CURSOR, *_FILTERS)),
}
