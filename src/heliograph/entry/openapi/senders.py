"""GET and POST /sender-ids and GET /sender-ids/{id}, described."""

from typing import Final

from heliograph.entry.openapi.parts import (
    CURSOR,
    CUSTOMER_ID_ALONE,
    CUSTOMER_ID_FIELD_ALONE,
    EXAMPLE_AT,
    Json,
    Operation,
    a_list,
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
from heliograph.senders.register import PURPOSE_MAX
from heliograph.senders.states import STATUSES

TAG: Final = "Sender IDs"

_COUNTRY: Final = "^[A-Za-z]{2}$"
_RULE: Final = ("3 to 11 of `A-Z`, `a-z`, `0-9`, space, `-`, `_`, `&` and `.` with a letter among them and no space at either end; or 3 to 15 "
                "digits, of which a leading `+` is dropped.")
_SENDER: Final[Json] = {
    "minLength": 3, "maxLength": 16, "pattern": r"^((?! )(?=.*[A-Za-z])[A-Za-z0-9 \-_&.]{3,11}(?<! )|\+?[0-9]{3,15})$"}

SCHEMAS: Final[dict[str, Json]] = {
    "SenderId": record(
        "A name or number that messages may come from.",
        id=identity("sid", "The sender ID's id."),
        sender=text("As it is shown on the handset."),
        country_code=text("Where it is to be used, ISO 3166-1 alpha-2; informs the approver.", nullable=True, pattern="^[A-Z]{2}$"),
        purpose=text("What it is for; informs the approver.", nullable=True),
        customer_id=identity("cus", "The Connect customer it belongs to, if any.", nullable=True),
        status=one_of(STATUSES, "`approved` ones can be sent from."),
        rejection_reason=text("Why it was rejected or suspended.", nullable=True),
        default=flag("Whether it is the account's default sender."),
        sandbox=flag("Whether it was registered with a sandbox key."),
        created_at=moment("When it was registered."),
        decided_at=moment("When the operator decided on it.", nullable=True),
    ),
    "SenderIdForm": {
        **form(
            "A sender ID to register.",
            sender=text(f"{_RULE} Required, unless `value` is given.", **_SENDER),
            value=text("Another name of `sender`.", **_SENDER),
            country_code=text("Where it is to be used, ISO 3166-1 alpha-2, in any case.", nullable=True, pattern=_COUNTRY),
            countryCode=text("Another name of `country_code`.", nullable=True, pattern=_COUNTRY),
            purpose=text("What it is for, in one line.", nullable=True, minLength=1, maxLength=PURPOSE_MAX),
            customer_id=CUSTOMER_ID_FIELD_ALONE,
            set_default=flag("Makes it the account's default sender, once it is approved.", nullable=True)),
        "anyOf": [{"required": ["sender"]}, {"required": ["value"]}]},
}

_EXAMPLE: Final[Json] = {
    "id": example_id("sid"), "sender": "AMINA", "country_code": "GH", "purpose": "Order notifications", "customer_id": None, "status": "submitted",
    "rejection_reason": None, "default": False, "sandbox": False, "created_at": EXAMPLE_AT, "decided_at": None}  # fmt: skip

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/sender-ids"): Operation(
        TAG, "List sender IDs", "Your sender IDs of this mode, newest first; with `customer_id` those of a Connect customer.",
        a_list(ref("SenderId")), {"data": [_EXAMPLE], "next_cursor": None}, parameters=(limit(), CURSOR, CUSTOMER_ID_ALONE),
        reasons=("no_such_record",)),
    ("GET", "/sender-ids/{id}"): Operation(
        TAG, "A sender ID", "One sender ID of this mode, with its status; with `customer_id` one of a Connect customer.", one_record(ref("SenderId")),
        {"data": _EXAMPLE}, parameters=(path_id("The sender ID's id, from its registration.", example_id("sid")), CUSTOMER_ID_ALONE)),
    ("POST", "/sender-ids"): Operation(
        TAG, "Register a sender ID",
        "Submits a sender ID for the operator's approval; with a sandbox key it is approved at once. The same sender again, in any case, is answered "
        "with the existing record; a rejected one is submitted anew. A partner's sender IDs are not its customers': register with `customer_id`.",
        with_warnings(one_record(ref("SenderId"))), {"data": _EXAMPLE}, body=ref("SenderIdForm"),
        body_example={"sender": "AMINA", "country_code": "GH", "purpose": "Order notifications"}, reasons=("no_such_record",)),
}
