"""What a form of a page was filled in with."""

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
