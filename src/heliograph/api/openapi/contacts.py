"""Describes GET and POST /contacts, and PUT and DELETE /contacts/{id}."""

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
    ResponseLink,
    a_list,
    also,
    always,
    array,
    example_id,
    flag,
    form,
    identity,
    limit,
    moment,
    one_record,
    path_id,
    query_text,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.base.short_texts import EMAIL_MAX
from heliograph.contacts import NEEDLE_MAX
from heliograph.contacts.fields import (
    CUSTOM_MAX,
    CUSTOM_NAME_MAX,
    CUSTOM_VALUE_MAX,
    TAG_MAX,
    TAGS_MAX,
)
from heliograph.contacts.tables import NAME_MAX

TAG: Final = "Contacts"

_STRINGS: Final[Json] = {"type": "object", "additionalProperties": {"type": "string"}}
_TAGS: Final[Json] = {
    "type": ["array", "null"],
    "maxItems": TAGS_MAX,
    "description": (
        "Replaces all tags. A tag is one line without `|`; a repeated tag counts once."
    ),
    "items": {
        "type": "string",
        "minLength": 1,
        "maxLength": TAG_MAX,
        "pattern": "^[^|]*$",
    },
}
_CUSTOM: Final[Json] = {
    "type": ["object", "null"],
    "maxProperties": CUSTOM_MAX,
    "description": (
        "Replaces all custom fields. Campaigns use them as `{field}`, so a field's name"
        " is one line without `{`, `}` and `|`, and neither `name` nor `phone`."
    ),
    "propertyNames": {
        "minLength": 1,
        "maxLength": CUSTOM_NAME_MAX,
        "pattern": "^[^{}|]*$",
        "not": {"enum": ["name", "phone"]},
    },
    "additionalProperties": {
        "type": "string",
        "minLength": 1,
        "maxLength": CUSTOM_VALUE_MAX,
    },
}


def _form(description: str, required: tuple[str, ...]) -> Json:
    return {
        **form(
            description,
            required=required,
            phone=text(
                "The phone number, in international digits or as dialled in the country of"
                " `country_code`.",
                minLength=1,
                maxLength=64,
            ),
            country_code=also(
                text(
                    "The country whose dialling rules `phone` is read by, ISO 3166-1 alpha-2, in"
                    " any case. The contact's own country follows from its phone.",
                    nullable=True,
                    pattern=COUNTRY_PATTERN,
                ),
                "countryCode",
            ),
            name=text("The name, in one line.", nullable=True, minLength=1, maxLength=NAME_MAX),
            email=text("An email address.", nullable=True, format="email", maxLength=EMAIL_MAX),
            tags=_TAGS,
            custom=_CUSTOM,
            opted_out=flag("True if campaigns skip this contact.", nullable=True),
            customer_id=CUSTOMER_ID_FIELD,
        ),
        "description": (
            f"{description} Only the fields that you give are changed. `null` clears a field."
        ),
    }


SCHEMAS: Final[dict[str, Json]] = {
    "Contact": record(
        "A person whom you send to.",
        id=identity("con", "The contact's id."),
        phone=text("The phone number, digits without plus.", pattern="^[0-9]{7,15}$"),
        name=text("The name, in one line.", nullable=True),
        email=text("An email address.", nullable=True),
        tags=array({"type": "string"}, "The contact's tags.", maxItems=TAGS_MAX),
        country_code=text(
            "The phone's country, ISO 3166-1 alpha-2. Null for a number of no country.",
            nullable=True,
            pattern="^[A-Z]{2}$",
        ),
        custom={**_STRINGS, "description": "Custom fields, which campaigns can use."},
        opted_out=flag("True if campaigns skip this contact."),
        sandbox=flag("True for a contact that was made with a sandbox key."),
        created_at=moment("When the contact was made."),
        updated_at=moment("When the contact was last changed."),
    ),
    "ContactForm": _form(
        "A contact to make, or to change if there is one with this phone.", ("phone",)
    ),
    "ContactChange": _form("Changes of a contact.", ()),
    "ContactDeleted": record(
        "A contact that was deleted.",
        id=identity("con", "The id that the contact had."),
        deleted=always(True, "Always true."),
    ),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("con"),
    "phone": EXAMPLE_PHONE,
    "name": "Kofi Mensah",
    "email": "kofi@example.com",
    "tags": ["vip", "accra"],
    "country_code": "GH",
    "custom": {"city": "Accra"},
    "opted_out": False,
    "sandbox": False,
    "created_at": EXAMPLE_AT,
    "updated_at": EXAMPLE_AT,
}
_ID: Final = path_id("The contact's id.", example_id("con"))
_CREATED: Final = flag("False if a contact with this phone existed and was changed.")
_UPSERTED: Final[Json] = {
    "type": "object",
    "required": ["data", "created"],
    "properties": {"data": ref("Contact"), "created": _CREATED},
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/contacts"): Operation(
        TAG,
        "List contacts",
        "Lists your contacts of this mode, newest first. With `q` it lists those whose name, phone,"
        " email or tags contain it.",
        a_list(ref("Contact")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(
            limit(),
            CURSOR,
            CUSTOMER_ID,
            query_text(
                "q",
                "Only contacts whose name, phone, email or tags contain this text, in any case. `%`"
                " and `_` are ordinary characters.",
                NEEDLE_MAX,
                "kofi",
            ),
        ),
        reasons=("no_such_record",),
    ),
    ("POST", "/contacts"): Operation(
        TAG,
        "Make or change a contact",
        "Makes a contact, or changes the one that has this phone. Several requests at once for one"
        " phone make only one contact.",
        with_warnings(_UPSERTED),
        {"data": _EXAMPLE, "created": True},
        body=ref("ContactForm"),
        body_example={
            "phone": EXAMPLE_PHONE,
            "name": "Kofi Mensah",
            "email": "kofi@example.com",
            "tags": ["vip", "accra"],
            "custom": {"city": "Accra"},
        },
        reasons=("no_such_record",),
        links=(
            ResponseLink("change", ("PUT", "/contacts/{id}"), "id", "/data/id"),
            ResponseLink("delete", ("DELETE", "/contacts/{id}"), "id", "/data/id"),
        ),
    ),
    ("PUT", "/contacts/{id}"): Operation(
        TAG,
        "Change a contact",
        "Changes the fields that you give. A phone that another contact has is refused.",
        with_warnings(one_record(ref("Contact"))),
        {"data": _EXAMPLE},
        parameters=(_ID,),
        body=ref("ContactChange"),
        body_example={"tags": ["vip"], "opted_out": True},
        reasons=("phone_taken", "storage_quota_reached"),
    ),
    ("DELETE", "/contacts/{id}"): Operation(
        TAG,
        "Delete a contact",
        "Deletes a contact for good. Its phone stays opted out. Messages to it stay.",
        one_record(ref("ContactDeleted")),
        {"data": {"id": example_id("con"), "deleted": True}},
        parameters=(_ID, CUSTOMER_ID),
    ),
}
