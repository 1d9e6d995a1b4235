"""GET and POST /contacts, PUT and DELETE /contacts/{id}, described."""

from typing import Any, Final

from heliograph.contacts.rules import CUSTOM_MAX, CUSTOM_NAME_MAX, CUSTOM_VALUE_MAX, TAG_MAX, TAGS_MAX
from heliograph.contacts.search import NEEDLE_MAX
from heliograph.contacts.tables import EMAIL_MAX, NAME_MAX
from heliograph.entry.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Link,
    Operation,
    a_list,
    array,
    example_id,
    flag,
    form,
    identity,
    limit,
    moment,
    one_record,
    path_id,
    query,
    record,
    ref,
    text,
    with_warnings,
)

TAG: Final = "Contacts"

_COUNTRY: Final = "^[A-Za-z]{2}$"
_STRINGS: Final[Json] = {"type": "object", "additionalProperties": {"type": "string"}}


def _form(description: str, required: tuple[str, ...]) -> Json:
    country: dict[str, Any] = {"nullable": True, "pattern": _COUNTRY}
    return {**form(
        description, required=required,
        phone=text("In international digits, or as it is dialled in the country of `country_code`.", minLength=1, maxLength=64),
        country_code=text("Whose dialling rules `phone` is read by, ISO 3166-1 alpha-2, in any case; the contact's own follows from its phone.",
                          **country),
        countryCode=text("Another name of `country_code`.", **country),
        name=text("In one line.", nullable=True, minLength=1, maxLength=NAME_MAX),
        email=text("An email address.", nullable=True, format="email", maxLength=EMAIL_MAX),
        tags={"type": ["array", "null"], "maxItems": TAGS_MAX, "description": "Replaces all tags. Each in one line, without `|`; a repeated "
              "one counts once.", "items": {"type": "string", "minLength": 1, "maxLength": TAG_MAX, "pattern": "^[^|]*$"}},
        custom={"type": ["object", "null"], "maxProperties": CUSTOM_MAX, "description": "Replaces all fields of your own. Campaigns ask for them by "
                "`{name}`, so a name is one line without `{`, `}` and `|`, and neither `name` nor `phone`.",
                "propertyNames": {"minLength": 1, "maxLength": CUSTOM_NAME_MAX, "pattern": "^[^{}|]*$", "not": {"enum": ["name", "phone"]}},
                "additionalProperties": {"type": "string", "minLength": 1, "maxLength": CUSTOM_VALUE_MAX}},
        opted_out=flag("Whether campaigns skip this contact.", nullable=True),
        customer_id=CUSTOMER_ID_FIELD),
        "description": f"{description} Only the fields that are given change; `null` clears one."}


SCHEMAS: Final[dict[str, Json]] = {
    "Contact": record(
        "Somebody whom you send to.",
        id=identity("con", "The contact's id."),
        phone=text("Digits without plus.", pattern="^[0-9]{7,15}$"),
        name=text("In one line.", nullable=True),
        email=text("An email address.", nullable=True),
        tags=array({"type": "string"}, "What you file it under.", maxItems=TAGS_MAX),
        country_code=text("Of the phone, ISO 3166-1 alpha-2; null when it belongs to no country.", nullable=True, pattern="^[A-Z]{2}$"),
        custom={**_STRINGS, "description": "Fields of your own, which campaigns can ask for."},
        opted_out=flag("Whether campaigns skip this contact."),
        sandbox=flag("Whether it was made with a sandbox key."),
        created_at=moment("When it was made."),
        updated_at=moment("When it was changed last."),
    ),
    "ContactForm": _form("A contact to make, or to change where there is one of this phone.", ("phone",)),
    "ContactChange": _form("What is to change of a contact.", ()),
    "ContactDeleted": record(
        "That a contact is gone.", id=identity("con", "The id it had."), deleted={"const": True, "description": "Always true."}),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("con"), "phone": EXAMPLE_PHONE, "name": "Kofi Mensah", "email": "kofi@example.com", "tags": ["vip", "accra"],
    "country_code": "GH", "custom": {"city": "Accra"}, "opted_out": False, "sandbox": False, "created_at": EXAMPLE_AT,
    "updated_at": EXAMPLE_AT}  # fmt: skip
_ID: Final = path_id("The contact's id.", example_id("con"))
_CREATED: Final = flag("False: there was a contact of this phone, and it was changed.")
_UPSERTED: Final[Json] = {"type": "object", "required": ["data", "created"], "properties": {"data": ref("Contact"), "created": _CREATED}}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/contacts"): Operation(
        TAG, "List contacts", "Your contacts of this mode, newest first; with `q` those that have it in name, phone, email or a tag.",
        a_list(ref("Contact")), {"data": [_EXAMPLE], "next_cursor": None}, parameters=(
            limit(), CURSOR, CUSTOMER_ID,
            query("q", "Only contacts with this substring, in any case, in name, phone, email or a tag; `%` and `_` mean themselves.",
                  {"type": "string", "maxLength": NEEDLE_MAX}, "kofi")),
        reasons=("no_such_record",)),
    ("POST", "/contacts"): Operation(
        TAG, "Make or change a contact",
        "Makes a contact, or changes the one that has this phone; of equal requests that race, one makes it.",
        with_warnings(_UPSERTED), {"data": _EXAMPLE, "created": True}, body=ref("ContactForm"),
        body_example={"phone": EXAMPLE_PHONE, "name": "Kofi Mensah", "email": "kofi@example.com", "tags": ["vip", "accra"],
                      "custom": {"city": "Accra"}},
        reasons=("no_such_record",),
        links=(Link("change", ("PUT", "/contacts/{id}"), "id", "/data/id"), Link("delete", ("DELETE", "/contacts/{id}"), "id", "/data/id"))),
    ("PUT", "/contacts/{id}"): Operation(
        TAG, "Change a contact", "Changes what is given; a phone that another contact has is refused.",
        with_warnings(one_record(ref("Contact"))), {"data": _EXAMPLE}, parameters=(_ID,), body=ref("ContactChange"),
        body_example={"tags": ["vip"], "opted_out": True}, reasons=("phone_taken", "storage_quota_reached")),
    ("DELETE", "/contacts/{id}"): Operation(
        TAG, "Delete a contact", "Deletes a contact for good, with whether it had opted out; what was sent to it stays.",
        one_record(ref("ContactDeleted")), {"data": {"id": example_id("con"), "deleted": True}}, parameters=(_ID, CUSTOMER_ID)),
}
