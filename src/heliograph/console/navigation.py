"""Lists the pages that the console's navigation leads to."""

from typing import Final, NamedTuple

from heliograph.portal.page_request import CONSOLE

NOW: Final = f"{CONSOLE}/now"
APPROVALS: Final = f"{CONSOLE}/approvals"
RESERVED: Final = f"{APPROVALS}/reserved"
ACCOUNTS: Final = f"{CONSOLE}/accounts"
TIERS: Final = f"{ACCOUNTS}/tiers"
NEW_ACCOUNT: Final = f"{ACCOUNTS}/new"
MESSAGES: Final = f"{CONSOLE}/messages"
IN_DOUBT: Final = f"{MESSAGES}/in-doubt"
UNMATCHED: Final = f"{MESSAGES}/receipts"
INBOUND: Final = f"{MESSAGES}/inbound"
MATCH: Final = f"{MESSAGES}/match"
PHONES: Final = f"{CONSOLE}/phones"
OPT_OUTS: Final = f"{PHONES}/opt-outs"
LIFT: Final = f"{OPT_OUTS}/lift"
ERASE: Final = f"{PHONES}/erase"
ABUSE: Final = f"{CONSOLE}/abuse"
CARRIERS: Final = f"{CONSOLE}/carriers"
TRY_NEW: Final = f"{CONSOLE}/bind-trial"
ROUTES: Final = f"{CONSOLE}/routes"
NUMBERS: Final = f"{CONSOLE}/numbers"
KEYWORDS: Final = f"{NUMBERS}/keywords"
RATES: Final = f"{CONSOLE}/rates"
SHEETS: Final = f"{RATES}/sheets"
COSTS: Final = f"{RATES}/costs"
PRICES: Final = f"{RATES}/prices"
MARGIN: Final = f"{RATES}/margin"
MONEY: Final = f"{CONSOLE}/money"
ALERTS: Final = f"{CONSOLE}/alerts"
RECIPIENTS: Final = f"{ALERTS}/recipients"
LEDGER_FILES: Final = f"{MONEY}/ledger"
CARRIER_MONEY: Final = f"{MONEY}/carriers"
PROOFS: Final = f"{MONEY}/proofs"
LOG: Final = f"{CONSOLE}/log"
PEOPLE: Final = f"{CONSOLE}/people"
OPERATORS: Final = f"{PEOPLE}/operators"


class NavigationLink(NamedTuple):
    path: str
    name: str


NAVIGATION: Final = (
    NavigationLink(NOW, "Now"),
    NavigationLink(APPROVALS, "Approvals"),
    NavigationLink(ACCOUNTS, "Accounts"),
    NavigationLink(MESSAGES, "Messages"),
    NavigationLink(PHONES, "Phones"),
    NavigationLink(CARRIERS, "Carriers"),
    NavigationLink(ROUTES, "Routes"),
    NavigationLink(NUMBERS, "Numbers"),
    NavigationLink(RATES, "Rates"),
    NavigationLink(MONEY, "Money"),
    NavigationLink(ABUSE, "Abuse"),
    NavigationLink(ALERTS, "Alerts"),
    NavigationLink(PEOPLE, "People"),
    NavigationLink(LOG, "Log"),
)
