"""Lists the pages that the console's navigation leads to."""

from typing import Final, NamedTuple

from heliograph.portal.page_request import CONSOLE

NOW: Final = f"{CONSOLE}/now"
APPROVALS: Final = f"{CONSOLE}/approvals"
ACCOUNTS: Final = f"{CONSOLE}/accounts"
LOG: Final = f"{CONSOLE}/log"


class NavigationLink(NamedTuple):
    path: str
    name: str


NAVIGATION: Final = (
    NavigationLink(NOW, "Now"),
    NavigationLink(APPROVALS, "Approvals"),
    NavigationLink(ACCOUNTS, "Accounts"),
    NavigationLink(LOG, "Log"),
)
