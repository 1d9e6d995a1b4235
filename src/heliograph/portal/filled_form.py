"""What a form of a page was filled in with."""

from collections.abc import Sequence

from heliograph.base.forms import shown
from heliograph.base.short_texts import refused
from heliograph.portal.page_request import TOKEN_FIELD, PageRequest


def body_of(asking: PageRequest) -> dict[str, str]:
    """Returns the fields that were filled in, as a body of the API has them: a field that is left
    blank is not given. Spaces around a value are left out.
    """
    return {
        name: value.strip()
        for name, value in asking.sent.form.items()
        if name != TOKEN_FIELD and value.strip()
    }


def choice_of(field: str, given: str, choices: Sequence[str]) -> str:
    """Returns what was chosen. Raises InvalidRequest for what is no choice of the form."""
    if given not in choices:
        raise refused(field, f"must be one of {', '.join(choices)}, not {shown(given)}")
    return given
