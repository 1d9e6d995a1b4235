"""Makes a body of the API from the form of a contact, and fills the form in with what a contact
has, and with what is wrong in it.

Each custom field that is there has a field of the form, and new ones have two: their name and their
value. Tags stand below each other, one a line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from heliograph.base.errors import FieldError
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.contacts import Contact
from heliograph.portal.filled_form import kept_as_stored

CUSTOM_FIELD: Final = "custom "  # before the name of each custom field, in a form
NEW_NAME: Final = "new_name_"
NEW_VALUE: Final = "new_value_"
NEW_FIELDS: Final = ("1", "2", "3")  # custom fields that one form can add
FIELDS: Final = ("phone", "country_code", "name", "email", "tags", "custom", "mode")
_TEXTS: Final = ("phone", "country_code", "name", "email")
_PART: Final = re.compile(r"(tags|custom)(?:\[(\d+)\]|\.(.*))", re.DOTALL)


class FormErrors(NamedTuple):
    """Says what is wrong with a form: the messages by field, and those about no field of it."""

    errors: Mapping[str, str]
    others: Sequence[FieldError]


def fields_of(contact: Contact) -> dict[str, str]:
    """Returns the fields of a form that changes nothing of the contact."""
    return {
        "phone": contact.phone,
        "name": contact.name or "",
        "email": contact.email or "",
        "tags": "\n".join(contact.tags),
        **{f"{CUSTOM_FIELD}{name}": value for name, value in contact.custom.items()},
    }


def body_of_new(form: Mapping[str, str]) -> dict[str, Any]:
    """Returns the form as a body of POST /contacts: what is left blank is not given. Raises
    InvalidRequest.
    """
    return {name: value for name, value in body_of_change(form).items() if value is not None}


def body_of_change(form: Mapping[str, str]) -> dict[str, Any]:
    """Returns the form as a body of PUT /contacts/{id}: what is left blank is null, which clears.
    Raises InvalidRequest.
    """
    tags = [line.strip() for line in form.get("tags", "").splitlines() if line.strip()]
    return {
        **{name: form.get(name, "").strip() or None for name in _TEXTS},
        "tags": tags or None,
        "custom": _custom(form) or None,
    }


def form_of_change(form: Mapping[str, str], contact: Contact) -> dict[str, str]:
    """Returns the form that changes a contact. What was left as the form has shown it, and what it
    has not shown, is as the contact has it now.
    """
    stored = fields_of(contact)
    return {
        **{field: stored[field] for field, _ in custom_fields(stored)},
        **kept_as_stored(form, stored),
    }


def custom_fields(form: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the fields of the form for custom fields that are there, each with its name."""
    return [
        (name, name.removeprefix(CUSTOM_FIELD)) for name in form if name.startswith(CUSTOM_FIELD)
    ]


def form_errors_of(errors: Sequence[FieldError]) -> FormErrors:
    """Returns what is wrong, each at the field of the form that it is about."""
    by_field: dict[str, list[str]] = {}
    others: list[FieldError] = []
    for error in errors:
        if part := _PART.fullmatch(error.field):
            field, place, name = part.groups()
            which = f"tag {int(place) + 1}" if place else name or "a custom field"
            by_field.setdefault(field, []).append(f"{which} {error.message}")
        elif error.field in FIELDS:
            by_field.setdefault(error.field, []).append(error.message)
        else:
            others.append(error)
    return FormErrors({field: "; ".join(messages) for field, messages in by_field.items()}, others)


def _custom(form: Mapping[str, str]) -> dict[str, str]:
    """Returns the custom fields that have a value, and the new ones."""
    custom = {
        name: form[field].strip() for field, name in custom_fields(form) if form[field].strip()
    }
    for place in NEW_FIELDS:
        name = form.get(f"{NEW_NAME}{place}", "").strip()
        value = form.get(f"{NEW_VALUE}{place}", "").strip()
        if not name and not value:
            continue
        if name in custom:
            raise invalid_field("custom", f"has {quote_value(name)} twice")
        custom[name] = value
    return custom
