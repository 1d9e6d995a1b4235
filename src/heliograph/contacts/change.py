"""Reads the change of a contact from a body, checks its form, and applies it to a contact. It needs
no database.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from heliograph.base.forms import Form
from heliograph.base.short_texts import without_joiners
from heliograph.base.unknown_fields import COUNTRY, PAYER
from heliograph.contacts.contact import Contact
from heliograph.contacts.fields import (
    CUSTOM_MAX,
    read_custom,
    read_email,
    read_name,
    read_tags,
)
from heliograph.keys import CUSTOMER_ID_MAX
from heliograph.text import Phone, read_country, read_phone

_CLEARED: Final[dict[str, Any]] = {
    "name": None,
    "email": None,
    "tags": (),
    "custom": {},
    "opted_out": False,
}


class TooManyFields(ValueError):
    """The custom fields that are there and those that are added are more than a contact may
    have.
    """


@dataclass(frozen=True, slots=True)
class ContactPatch:
    """Says what to change in a contact. `given` holds new values of `name`, `email`, `tags`,
    `custom` and `opted_out`; fields that are not in it stay. `parts` then sets single custom
    fields, or removes those whose value is None. If `phone` is None, the phone stays.
    """

    phone: Phone | None
    given: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def opts_out(self) -> bool:
        return self.given.get("opted_out") is True

    @property
    def opting_out(self) -> "ContactPatch":
        """Returns only the opting out of a change that opts out."""
        return ContactPatch(self.phone, {"opted_out": True})


class ContactRequest(NamedTuple):
    """Holds a body of POST or PUT /contacts that is right in form."""

    change: ContactPatch
    customer_id: str | None
    warnings: list[str]


def read_contact_request(
    body: dict[str, Any], *, phone_required: bool, home_country: str | None = None
) -> ContactRequest:
    """Reads a change: only given fields change, and null clears (docs/api.md, "Contacts").
    `home_country` is the account's country, by which a phone with a leading 0 is read when no
    country is given. Raises InvalidRequest for all bad fields together.
    """
    form = Form(body, costly=(COUNTRY, PAYER))
    country_code = form.value("country_code", "countryCode", read=read_country)
    phone = form.value(
        "phone",
        read=lambda value: read_phone(value, country_code, home_country),
        required=phone_required and "phone" not in body,
    )
    if "phone" in body and body["phone"] is None:
        form.refuse("phone", "must not be null: a contact is known by it")
    read = {
        "name": form.value("name", read=read_name),
        "email": form.value("email", read=read_email),
        "tags": form.value("tags", read=read_tags),
        "custom": form.value("custom", read=read_custom),
        "opted_out": form.boolean("opted_out"),
    }
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    form.finish()
    given = {
        name: _CLEARED[name] if body[name] is None else value
        for name, value in read.items()
        if name in body
    }
    return ContactRequest(ContactPatch(phone, given), customer_id, form.warnings())


def apply_change(contact: Contact, change: ContactPatch, now_ms: int) -> Contact:
    """Returns the contact as the change leaves it, or the contact itself where nothing differs.
    Raises TooManyFields.
    """
    after = contact._replace(**change.given)
    if change.phone is not None:
        after = after._replace(phone=change.phone.digits, country_code=change.phone.country_code)
    if change.parts:
        custom = {**after.custom, **change.parts}
        after = after._replace(
            custom={name: value for name, value in custom.items() if value is not None}
        )
    if len(after.custom) > CUSTOM_MAX:
        raise TooManyFields(
            f"has {len(contact.custom)} custom fields, and would have {len(after.custom)};"
            f" {CUSTOM_MAX} are allowed"
        )
    return contact if after == contact else after._replace(updated_at_ms=now_ms)


def search_text(contact: Contact) -> str:
    """Returns what a search looks through. Each field has a line of its own, so that nothing is
    found across two.
    """
    return fold("\n".join((contact.name or "", contact.phone, contact.email or "", *contact.tags)))


def fold(text: str) -> str:
    """Returns a text as it is compared in a search: in any case, and whether or not there are
    joiners on the keyboard of whoever typed it.
    """
    return without_joiners(text).casefold()
