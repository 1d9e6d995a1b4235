"""Lists the pages about texts that came in, and their form."""

from typing import Final

from heliograph.console.handlers import form_for_operators, page_for_operators
from heliograph.console.message_pages import inbound_texts, one_inbound_text
from heliograph.console.navigation import INBOUND
from heliograph.portal.handlers import form_route, page_route
from heliograph.users import OperatorRight

_TEXT: Final = f"{INBOUND}/{{inbound}}"
_READ: Final = form_for_operators(
    OperatorRight.TEXTS, one_inbound_text.read_text, one_inbound_text.show_text
)
INBOUND_ROUTES: Final = (
    page_route(INBOUND, page_for_operators(inbound_texts.show_list)),
    page_route(_TEXT, page_for_operators(one_inbound_text.show_text)),
    form_route(f"{_TEXT}/text", _READ),
)
