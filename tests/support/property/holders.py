"""Holds partners and customers as a state machine knows them, and what each should have."""

from dataclasses import dataclass

from heliograph import accounts
from heliograph.keys import Principal
from heliograph.wallet import Figures


@dataclass
class Held:
    """Says what somebody should have. A customer's `partner` is its number; `sandbox` holds figures
    that nobody paid for.
    """

    account_id: str
    currency: str
    minor: int = 0
    credits: int = 0
    suspended: bool = False
    partner: int | None = None
    sandbox: bool = False
    ref: str | None = None
    key: bytes = b""  # the digest of its own

    @property
    def figures(self) -> Figures:
        return Figures(self.minor, self.credits)


def text_id(customer: Held) -> str:
    return accounts.text_of_id(customer.account_id, is_customer=True)


def principal(partner: Held, sandbox: bool) -> Principal:
    return Principal(
        key_id="k",
        account_id=partner.account_id,
        sandbox=sandbox,
        permissions=frozenset({"connect.customers"}),
        per_minute=100,
        expires_at_ms=None,
        key_prefix="sk_live_abcd",
        suspended=False,
        is_customer=False,
        country_code="GH",
    )
