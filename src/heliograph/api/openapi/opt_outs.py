"""Describes GET and POST /opt-outs, and DELETE /opt-outs/{id}."""

from typing import Final

from heliograph.api.openapi.parts import (
    COUNTRY_PATTERN,
    CURSOR,
    CUSTOMER_ID,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Operation,
    a_list,
    also,
    always,
    flag,
    form,
    limit,
    moment,
    one_of,
    one_record,
    path_id,
    query_text,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.opt_outs import SUPPRESSED_SENDER_MAX, OptOutSource

TAG: Final = "Opt-outs"

SCHEMAS: Final[dict[str, Json]] = {
    "OptOut": record(
        "A phone that wants no texts of yours, or none of one sender.",
        phone=text("The phone, digits without plus.", pattern="^[0-9]{7,15}$"),
        sender=text(
            "The sender whose texts are not wanted, in lower case. Null: none of yours are.",
            nullable=True,
        ),
        source=one_of([each.value for each in OptOutSource], "Where the opt-out comes from."),
        sandbox=flag("True for an opt-out of the sandbox."),
        created_at=moment("When it was made."),
    ),
    "OptOutForm": form(
        "A phone to opt out.",
        required=("phone",),
        phone=text(
            "The phone number, in international digits or as dialled in the country of"
            " `country_code`.",
            minLength=1,
            maxLength=64,
        ),
        country_code=also(
            text(
                "The country whose dialling rules `phone` is read by, ISO 3166-1 alpha-2, in any"
                " case.",
                nullable=True,
                pattern=COUNTRY_PATTERN,
            ),
            "countryCode",
        ),
        sender=text(
            "The sender whose texts are not wanted, in any case. Without it, none of yours are.",
            nullable=True,
            minLength=1,
            maxLength=SUPPRESSED_SENDER_MAX,
        ),
        customer_id=CUSTOMER_ID_FIELD,
    ),
    "OptOutLifted": record(
        "A phone whose opt-out was lifted.",
        phone=text("The phone, digits without plus.", pattern="^[0-9]{7,15}$"),
        deleted=always(True, "Always true."),
    ),
}

_EXAMPLE: Final[Json] = {
    "phone": EXAMPLE_PHONE,
    "sender": None,
    "source": "api",
    "sandbox": False,
    "created_at": EXAMPLE_AT,
}
_STORED: Final[Json] = {
    "type": "object",
    "required": ["data", "created"],
    "properties": {
        "data": ref("OptOut"),
        "created": flag("False if the phone had opted out of the same before."),
    },
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/opt-outs"): Operation(
        TAG,
        "List opt-outs",
        "Lists the phones that want no texts of yours, newest first.",
        a_list(ref("OptOut")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(limit(), CURSOR, CUSTOMER_ID),
        reasons=("no_such_record",),
    ),
    ("POST", "/opt-outs"): Operation(
        TAG,
        "Opt a phone out",
        "Stores that a phone wants no texts of yours, or none of one sender. Sends reject it from"
        " then on, and campaigns leave it out. One-time passwords reach it.",
        with_warnings(_STORED),
        {"data": _EXAMPLE, "created": True},
        body=ref("OptOutForm"),
        body_example={"phone": EXAMPLE_PHONE},
        reasons=("no_such_record",),
    ),
    ("DELETE", "/opt-outs/{id}"): Operation(
        TAG,
        "Lift an opt-out",
        "Lets texts reach a phone again. Without `sender`, all opt-outs of the phone are lifted.",
        one_record(ref("OptOutLifted")),
        {"data": {"phone": EXAMPLE_PHONE, "deleted": True}},
        parameters=(
            path_id("The phone, in international digits.", EXAMPLE_PHONE),
            query_text(
                "sender", "Only the opt-out of this sender.", SUPPRESSED_SENDER_MAX, "AMINA"
            ),
            CUSTOMER_ID,
        ),
    ),
}
