"""Lists the pages about phones, and their forms."""

from typing import Final

from heliograph.console.handlers import (
    form_for_operators,
    long_form_for_operators,
    page_for_operators,
)
from heliograph.console.navigation import ERASE, LIFT, OPT_OUTS, PHONES
from heliograph.console.phone_pages import erasure, opt_outs, phones
from heliograph.portal.handlers import form_route, page_route
from heliograph.portal.lanes import Lane
from heliograph.users import OperatorRight

_ADD: Final = form_for_operators(
    OperatorRight.ACCOUNTS, opt_outs.add, opt_outs.show_list, is_fresh=True
)
_LIFT: Final = form_for_operators(
    OperatorRight.ACCOUNTS, opt_outs.lift, opt_outs.ask_lift, is_fresh=True
)
PHONE_ROUTES: Final = (
    page_route(PHONES, page_for_operators(phones.show_phone)),
    page_route(OPT_OUTS, page_for_operators(opt_outs.show_list)),
    form_route(OPT_OUTS, _ADD),
    page_route(LIFT, page_for_operators(opt_outs.ask_lift)),
    form_route(LIFT, _LIFT),
    page_route(ERASE, page_for_operators(erasure.ask_erasure)),
    form_route(
        ERASE, long_form_for_operators(OperatorRight.ACCOUNTS, erasure.erase), Lane.ERASURES
    ),
)
