"""Lists every page of the console, and every form."""

from typing import Final

from heliograph.console import (
    account_limits,
    account_pages,
    account_wallet,
    approvals,
    live_approvals,
    log_pages,
)
from heliograph.console.handlers import by_operators, to_operators
from heliograph.console.navigation import ACCOUNTS, APPROVALS, LOG, NOW
from heliograph.console.now_pages import now
from heliograph.portal.handlers import does, shows
from heliograph.portal.page_request import CONSOLE
from heliograph.users import OperatorRight

SENDER: Final = f"{APPROVALS}/senders/{{sender}}"
WAITING_ACCOUNT: Final = f"{APPROVALS}/accounts/{{account}}"
ACCOUNT: Final = f"{ACCOUNTS}/{{account}}"

PAGES: Final = (
    shows(CONSOLE, to_operators(now.led_there)),
    shows(NOW, to_operators(now.now)),
    shows(f"{NOW}/figures", to_operators(now.figures)),
    shows(f"{NOW}/export", to_operators(now.export)),
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
    shows(f"{ACCOUNT}/wallet", to_operators(account_wallet.one)),
    does(
        f"{ACCOUNT}/wallet",
        by_operators(OperatorRight.MONEY, account_wallet.change, account_wallet.one, is_fresh=True),
    ),
    shows(f"{ACCOUNT}/limits", to_operators(account_limits.one)),
    does(
        f"{ACCOUNT}/limits",
        by_operators(
            OperatorRight.ACCOUNTS, account_limits.change, account_limits.one, is_fresh=True
        ),
    ),
    shows(LOG, to_operators(log_pages.listed)),
    shows(f"{LOG}/export", to_operators(log_pages.export)),
)
