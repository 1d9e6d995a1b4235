"""Lists the pages that the console's navigation leads to."""

from typing import Final, NamedTuple

from heliograph.portal.page_request import CONSOLE

APPROVALS: Final = f"{CONSOLE}/approvals"
ACCOUNTS: Final = f"{CONSOLE}/accounts"
CARRIERS: Final = f"{CONSOLE}/carriers"
ROUTES: Final = f"{CONSOLE}/routes"
MONEY: Final = f"{CONSOLE}/money"
LOG: Final = f"{CONSOLE}/log"


class NavigationLink(NamedTuple):
    path: str
    name: str


NAVIGATION: Final = (
    NavigationLink(APPROVALS, "Approvals"),
    NavigationLink(ACCOUNTS, "Accounts"),
    NavigationLink(CARRIERS, "Carriers"),
    NavigationLink(ROUTES, "Routes"),
    NavigationLink(MONEY, "Money"),
    NavigationLink(LOG, "Log"),
)
