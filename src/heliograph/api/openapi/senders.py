"""Describes GET and POST /sender-ids and GET /sender-ids/{id}."""

from typing import Final

from heliograph.api.openapi.parts import (
    COUNTRY_PATTERN,
    CURSOR,
    CUSTOMER_ID_ALONE,
    CUSTOMER_ID_FIELD_ALONE,
    EXAMPLE_AT,
    Json,
    Operation,
    a_list,
    also,
    example_id,
    flag,
    form,
    identity,
    limit,
    moment,
    one_of,
    one_record,
    path_id,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.senders import PURPOSE_MAX, states

TAG: Final = "Sender IDs"

_RULE: Final = (
    "A name of 3 to 11 characters, each one of `A-Z`, `a-z`, `0-9`, space, `-`, `_`, `&` and `.`,"
    " with at least one letter and no space at either end; or a number of 3 to 15 digits. A leading"
    " `+` of a number is dropped."
)
_SENDER: Final[Json] = {
    "minLength": 3,
    "maxLength": 16,
    "pattern": r"^((?! )(?=.*[A-Za-z])[A-Za-z0-9 \-_&.]{3,11}(?<! )|\+?[0-9]{3,15})$",
}

SCHEMAS: Final[dict[str, Json]] = {
    "SenderId": record(
        "A name or number that messages may come from.",
        id=identity("sid", "The sender ID's id."),
        sender=text("The sender as the handset shows it."),
        country_code=text(
            "The country it is meant for, ISO 3166-1 alpha-2. It informs the operator.",
            nullable=True,
            pattern="^[A-Z]{2}$",
        ),
        purpose=text("What it is for. It informs the operator.", nullable=True),
        customer_id=identity("cus", "The Connect customer it belongs to, if any.", nullable=True),
        status=one_of(states.STATUSES, "Only an `approved` sender ID can be used."),
        rejection_reason=text("Why it was rejected or suspended.", nullable=True),
        default=flag("True for the account's default sender."),
        sandbox=flag("True if it was registered with a sandbox key."),
        created_at=moment("When it was registered."),
        decided_at=moment("When the operator approved, rejected or suspended it.", nullable=True),
    ),
    "SenderIdForm": form(
        "A sender ID to register.",
        required=("sender",),
        sender=also(text(_RULE, **_SENDER), "value"),
        country_code=also(
            text(
                "The country it is meant for, ISO 3166-1 alpha-2, in any case.",
                nullable=True,
                pattern=COUNTRY_PATTERN,
            ),
            "countryCode",
        ),
        purpose=text(
            "What it is for, in one line.", nullable=True, minLength=1, maxLength=PURPOSE_MAX
        ),
        customer_id=CUSTOMER_ID_FIELD_ALONE,
        set_default=flag(
            "Makes it the account's default sender, once it is approved.", nullable=True
        ),
    ),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("sid"),
    "sender": "AMINA",
    "country_code": "GH",
    "purpose": "Order notifications",
    "customer_id": None,
    "status": "submitted",
    "rejection_reason": None,
    "default": False,
    "sandbox": False,
    "created_at": EXAMPLE_AT,
    "decided_at": None,
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/sender-ids"): Operation(
        TAG,
        "List sender IDs",
        "Lists your sender IDs of this mode, newest first. With `customer_id` it lists those of a"
        " Connect customer.",
        a_list(ref("SenderId")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(limit(), CURSOR, CUSTOMER_ID_ALONE),
        reasons=("no_such_record",),
    ),
    ("GET", "/sender-ids/{id}"): Operation(
        TAG,
        "One sender ID",
        "Shows one sender ID of this mode with its status. With `customer_id` it shows one of a"
        " Connect customer.",
        one_record(ref("SenderId")),
        {"data": _EXAMPLE},
        parameters=(
            path_id("The sender ID's id, from its registration.", example_id("sid")),
            CUSTOMER_ID_ALONE,
        ),
    ),
    ("POST", "/sender-ids"): Operation(
        TAG,
        "Register a sender ID",
        "Submits a sender ID for the operator's approval. With a sandbox key it is approved at"
        " once. If you register the same sender again, in any case, the answer is the existing"
        " record; a rejected one is submitted again. Customers cannot use their partner's sender"
        " IDs: register theirs with `customer_id`.",
        with_warnings(one_record(ref("SenderId"))),
        {"data": _EXAMPLE},
        body=ref("SenderIdForm"),
        body_example={"sender": "AMINA", "country_code": "GH", "purpose": "Order notifications"},
        reasons=("no_such_record",),
    ),
}
