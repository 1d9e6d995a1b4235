"""Checks the fields of a contact. Each function takes what was given and returns what is stored, or
raises ValueError (BadParts).
"""

from collections.abc import Mapping
from typing import Any, Final

from heliograph.base.errors import FieldError
from heliograph.base.forms import BadParts, as_text, quote_value, read_email_address, text_reader
from heliograph.base.short_texts import one_line
from heliograph.contacts.tables import NAME_MAX

TAGS_MAX: Final = 50  # of one contact; each is looked at for every campaign
TAG_MAX: Final = 64  # characters
CUSTOM_MAX: Final = 50  # fields of one contact: as many as a campaign's text may ask for
CUSTOM_NAME_MAX: Final = 64  # characters; so long may a placeholder's name be
# characters; ten segments lock_contacts 1,530, and 50 fields of a contact 25,000
CUSTOM_VALUE_MAX: Final = 500
TAG_SEPARATOR: Final = "|"  # between the tags of a cell
NOT_IN_NAMES: Final = "{}|"  # what a placeholder of a campaign's text ends at
OWN_PLACEHOLDERS: Final = ("name", "phone")  # a custom field called so could not be asked for


read_name: Final = text_reader(lambda text: one_line("name", text, most=NAME_MAX))
_tag: Final = text_reader(lambda text: one_line("tag", text, most=TAG_MAX))
_custom_name: Final = text_reader(lambda text: one_line("name", text, most=CUSTOM_NAME_MAX))
_custom_value: Final = text_reader(lambda text: one_line("value", text, most=CUSTOM_VALUE_MAX))


def read_email(value: Any) -> str:
    """Reads an email address, and removes the white space around it."""
    return read_email_address(as_text(value).strip())


def read_tag(value: Any) -> str:
    """Reads a tag. Raises ValueError, also for one with `|`, which stands between the tags of a
    cell in files.
    """
    tag = _tag(value)
    if TAG_SEPARATOR in tag:
        raise ValueError(
            f"must have no {TAG_SEPARATOR}, which stands between tags in files; found"
            f" {quote_value(value)}"
        )
    return tag


def read_tags(value: Any) -> tuple[str, ...]:
    """Returns the tags, each once, in the order in which they were given. Raises ValueError, and
    BadParts for those that are no tags.
    """
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be an array of strings, not {quote_value(value)}")
    if len(value) > TAGS_MAX:
        raise ValueError(f"must have at most {TAGS_MAX} tags, not {len(value)}")
    tags: dict[str, None] = {}
    wrong: list[FieldError] = []
    for place, each in enumerate(value):
        try:
            tags[read_tag(each)] = None
        except ValueError as error:
            wrong.append(FieldError(f"[{place}]", str(error)))
    if wrong:
        raise BadParts(wrong)
    return tuple(tags)


def read_custom_name(value: Any) -> str:
    """Reads a custom field's name, as a campaign's text names it between braces. Raises
    ValueError.
    """
    name = _custom_name(value)
    if name in OWN_PLACEHOLDERS:
        raise ValueError(
            f"must not be called {name}: in a campaign's text that is the contact's own {name}"
        )
    if any(mark in name for mark in NOT_IN_NAMES):
        raise ValueError(
            "must have none of { } | in its name, because a campaign's text asks for it by {name}"
        )
    return name


def read_custom_value(value: Any) -> str:
    """Reads the value of a custom field."""
    return _custom_value(value)


def read_custom(value: Any) -> dict[str, str]:
    """Reads a contact's custom fields. Raises ValueError for what cannot be custom fields."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object of strings, not {quote_value(value)}")
    if len(value) > CUSTOM_MAX:
        raise ValueError(f"must have at most {CUSTOM_MAX} fields, not {len(value)}")
    custom: dict[str, str] = {}
    wrong: list[FieldError] = []
    for name, each in value.items():
        try:
            known = read_custom_name(name)
            if known in custom:
                raise ValueError(
                    f"is given twice: {quote_value(known)} and the same with spaces at its ends"
                )
            custom[known] = read_custom_value(each)
        except ValueError as error:
            wrong.append(FieldError(f".{quote_value(name).strip(chr(39))}", str(error)))
    if wrong:
        raise BadParts(wrong)
    return custom
