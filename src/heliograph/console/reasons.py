"""Reads the reason that a form of the console asks for."""

from heliograph.base.short_texts import REASON_MAX, one_line
from heliograph.portal.page_request import PageRequest


def reason_of(request: PageRequest) -> str:
    """Returns why something is done. Raises InvalidRequest for none, and for one too long."""
    return one_line("reason", request.sent.form.get("reason", ""), most=REASON_MAX)
