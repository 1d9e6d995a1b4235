"""Lists every page of the console, and every form."""

from typing import Final

from heliograph.console import account_pages, approvals, live_approvals, log_pages
from heliograph.console.carrier_pages import carriers, routes
from heliograph.console.handlers import by_operators, to_operators
from heliograph.console.money_pages import money
from heliograph.console.navigation import ACCOUNTS, APPROVALS, CARRIERS, LOG, MONEY, ROUTES
from heliograph.portal.handlers import does, shows
from heliograph.portal.page_request import CONSOLE
from heliograph.users import OperatorRight

SENDER: Final = f"{APPROVALS}/senders/{{sender}}"
WAITING_ACCOUNT: Final = f"{APPROVALS}/accounts/{{account}}"
ACCOUNT: Final = f"{ACCOUNTS}/{{account}}"
CARRIER: Final = f"{CARRIERS}/{{carrier}}"
WALLET: Final = f"{MONEY}/{{account}}"

PAGES: Final = (
    shows(CONSOLE, to_operators(approvals.led_there)),
    shows(APPROVALS, to_operators(approvals.listed)),
    shows(SENDER, to_operators(approvals.one)),
    does(SENDER, by_operators(OperatorRight.APPROVE, approvals.decide, approvals.one)),
    shows(WAITING_ACCOUNT, to_operators(live_approvals.one)),
    does(
        WAITING_ACCOUNT,
        by_operators(
            OperatorRight.ACCOUNTS, live_approvals.let_live, live_approvals.one, is_fresh=True
        ),
    ),
    shows(ACCOUNTS, to_operators(account_pages.listed)),
    shows(ACCOUNT, to_operators(account_pages.one)),
    does(
        ACCOUNT,
        by_operators(
            OperatorRight.ACCOUNTS, account_pages.change, account_pages.one, is_fresh=True
        ),
    ),
    shows(CARRIERS, to_operators(carriers.listed)),
    does(
        CARRIERS,
        by_operators(OperatorRight.CARRIERS, carriers.add, carriers.listed, is_fresh=True),
    ),
    shows(CARRIER, to_operators(carriers.one)),
    does(CARRIER, by_operators(OperatorRight.CARRIERS, carriers.change, carriers.one)),
    shows(ROUTES, to_operators(routes.listed)),
    does(ROUTES, by_operators(OperatorRight.CARRIERS, routes.change, routes.listed, is_fresh=True)),
    shows(MONEY, to_operators(money.found)),
    shows(WALLET, to_operators(money.one)),
    does(WALLET, by_operators(OperatorRight.MONEY, money.change, money.one, is_fresh=True)),
    shows(f"{WALLET}/statement", to_operators(money.statement)),
    shows(f"{WALLET}/entries", to_operators(money.entries)),
    shows(LOG, to_operators(log_pages.listed)),
    shows(f"{LOG}/export", to_operators(log_pages.export)),
)
