"""Describes GET /inbound, GET /inbound/{id} and GET /numbers."""

from typing import Final

from heliograph.api.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
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
    record,
    ref,
    text,
)
from heliograph.inbound.receive import ENCODINGS
from heliograph.inbound.tables import ONE_SENDER_SCOPE, WHOLE_ACCOUNT_SCOPE

TAG: Final = "Inbound"

SCHEMAS: Final[dict[str, Json]] = {
    "InboundText": record(
        "A text that a handset has sent to one of your numbers.",
        id=identity("inb", "The text's id."),
        **{
            "from": text(
                "Who sent it: E.164 digits, or what the carrier writes, such as a name. Null"
                " after retention.",
                nullable=True,
            )
        },
        to=text("Your number or short code, digits."),
        text=text(
            "The text. With the encoding `binary` it is base64 of the octets. Null after"
            " retention, and in an event if it is too long for that.",
            nullable=True,
        ),
        encoding=one_of(ENCODINGS, "How the text came."),
        parts=integer("How many parts the text has.", minimum=1),
        parts_received=integer("How many of them have come.", minimum=1),
        complete=flag("False if parts had not come within 30 minutes: the text lacks them."),
        keyword=text(
            "The keyword that the text is, without case and accents. Null if it is not a keyword.",
            nullable=True,
        ),
        opt_out_suspected=flag(
            "True of a text that is not a keyword and seems to ask to be left alone: somebody has"
            " to read it."
        ),
        in_reply_to=identity(
            "msg",
            "The message of yours that it answers: the one to this phone from this number that"
            " left last, within 72 hours. Null if there is none.",
            nullable=True,
        ),
        sandbox=flag("Whether it is of the sandbox: a phone of the portal's *Handsets* wrote it."),
        received_at=moment("When the first part came."),
    ),
    "InboundNumber": record(
        "A number or short code of yours that handsets can send texts to.",
        id=identity("num", "The number's id."),
        number=text("Its digits, without plus."),
        first_word=flag("True if a keyword may stand before other words."),
        opt_out_scope=one_of(
            (WHOLE_ACCOUNT_SCOPE, ONE_SENDER_SCOPE),
            "Of whose texts somebody opts out on it: all of the account's, or those from this"
            " number alone.",
        ),
        sandbox=flag("Always false: the sandbox has no numbers."),
        created_at=moment("When the operator added it."),
    ),
}

EXAMPLE: Final[Json] = {
    "id": example_id("inb"),
    "from": EXAMPLE_PHONE,
    "to": "4567",
    "text": "Where is my order?",
    "encoding": "GSM-7",
    "parts": 1,
    "parts_received": 1,
    "complete": True,
    "keyword": None,
    "opt_out_suspected": False,
    "in_reply_to": example_id("msg", 1),
    "sandbox": False,
    "received_at": EXAMPLE_AT,
}
_NUMBER: Final[Json] = {
    "id": example_id("num"),
    "number": "4567",
    "first_word": False,
    "opt_out_scope": WHOLE_ACCOUNT_SCOPE,
    "sandbox": False,
    "created_at": EXAMPLE_AT,
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/inbound"): Operation(
        TAG,
        "List inbound texts",
        "Lists the texts that handsets have sent to your numbers, newest first.",
        a_list(ref("InboundText")),
        {"data": [EXAMPLE], "next_cursor": None},
        parameters=(limit(), CURSOR, CUSTOMER_ID),
        reasons=("no_such_record",),
    ),
    ("GET", "/inbound/{id}"): Operation(
        TAG,
        "Get an inbound text",
        "Returns one text that a handset has sent to a number of yours.",
        one_record(ref("InboundText")),
        {"data": EXAMPLE},
        parameters=(path_id("The text's id.", example_id("inb")), CUSTOMER_ID),
    ),
    ("GET", "/numbers"): Operation(
        TAG,
        "List numbers",
        "Lists your numbers and short codes that handsets can send texts to, newest first. The"
        " operator adds them. A short code that several accounts share is in nobody's list.",
        a_list(ref("InboundNumber")),
        {"data": [_NUMBER], "next_cursor": None},
        parameters=(limit(), CURSOR, CUSTOMER_ID),
        reasons=("no_such_record",),
    ),
}
