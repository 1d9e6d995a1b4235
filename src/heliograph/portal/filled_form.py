"""Keeps what a form of a page was filled in with."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from heliograph.base.forms import shown
from heliograph.base.json import decode_object
from heliograph.base.short_texts import refused
from heliograph.portal.page_request import ONCE_FIELD, TOKEN_FIELD, PageRequest

# as JSON has one, of no more digits than it can be read with
NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?", re.ASCII)


def body_of(asking: PageRequest) -> dict[str, str]:
    """Returns the fields that were filled in, as a body of the API has them: a field that is left
    blank is not given. Spaces around a value are left out, and so are the fields that only the
    portal reads.
    """
    return {
        name: value.strip()
        for name, value in asking.sent.form.items()
        if name not in (TOKEN_FIELD, ONCE_FIELD) and value.strip()
    }


def with_numbers(body: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """Returns a body in which these fields are numbers, as JSON has them. What is typed and is no
    number stays as it is, for who reads the body to refuse it. Spaces between digits are left out.
    """
    numbers = {
        name: decode_object(f'{{"number": {digits}}}'.encode())["number"]
        for name in fields
        if name in body and NUMBER.fullmatch(digits := "".join(body[name].split()))
    }
    return {**body, **numbers}


def choice_of(field: str, given: str, choices: Sequence[str]) -> str:
    """Returns what was chosen. Raises InvalidRequest for what is no choice of the form."""
    if given not in choices:
        raise refused(field, f"must be one of {', '.join(choices)}, not {shown(given)}")
    return given
