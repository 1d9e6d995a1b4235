"""Holds partners and their customers, as a machine knows them, and what each of them does."""

from typing import Any

from hypothesis.stateful import (
    RuleBasedStateMachine,
)

from heliograph import connect, keys
from heliograph.base import clock
from heliograph.base.errors import Forbidden, InsufficientCredits, NotFound
from heliograph.connect import CustomerRequest
from heliograph.connect.credits import Moved, move_credits
from heliograph.connect.customer import Customer
from heliograph.connect.provision import CurrencyMismatch, Provisioned
from heliograph.connect.request import CreditsRequest
from heliograph.database.database import Database
from heliograph.keys.issue import digest
from heliograph.wallet import money
from tests.support.property.holders import Held, principal, text_id


class Partners(RuleBasedStateMachine):
    """Knows what everybody should have, beside the database that says what they have."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.db = Database(url)
        self.seen: set[str] = set()
        self.partners: list[Held] = []
        self.customers: list[Held] = []
        self.steps = 0

    def partner_of(self, customer: Held) -> Held:
        assert customer.partner is not None
        return self.partners[customer.partner]

    def with_ref(self, who: int, ref: str | None, sandbox: bool) -> Held | None:
        return next(
            (
                one
                for one in self.customers
                if ref is not None and (one.partner, one.ref, one.sandbox) == (who, ref, sandbox)
            ),
            None,
        )

    def live(self) -> list[Held]:
        return [one for one in self.customers if not one.sandbox and not one.suspended]

    def request(
        self, partner: Held, ref: str | None, credits: int, minor: int, currency: str | None
    ) -> CustomerRequest:
        return CustomerRequest(
            "Dede Stores",
            "233201234567",
            "GH",
            external_ref=ref,
            initial_credits=credits,
            currency=currency,
            initial_balance=money.to_number(minor, partner.currency),
        )

    def provisioned(
        self, partner: Held, request: CustomerRequest, sandbox: bool
    ) -> Provisioned | Exception:
        try:
            return self.db.transact(
                lambda tx: connect.provision(
                    tx, partner.account_id, request, sandbox=sandbox, now_ms=clock.now_ms()
                )
            )
        except (InsufficientCredits, CurrencyMismatch) as error:
            return error

    def note(self, who: int, made: Provisioned, sandbox: bool, ref: str | None) -> None:
        if not made.created:
            return
        customer: Customer = made.customer
        with self.db.write() as tx:
            issued = keys.issue(
                tx,
                customer.account_id,
                name="own",
                sandbox=sandbox,
                tier="free",
                permissions=["all"],
                now_ms=clock.now_ms(),
            )
        self.customers.append(
            Held(
                account_id=customer.account_id,
                currency=customer.currency,
                minor=customer.balance_minor,
                credits=customer.sms_credits,
                suspended=False,
                partner=who,
                sandbox=sandbox,
                ref=ref,
                key=digest(issued.key),
            )
        )
        if not sandbox:
            self.partners[who].minor -= customer.balance_minor
            self.partners[who].credits -= customer.sms_credits

    def moved(self, customer: Held, credits: int) -> Moved | Exception:
        """Moves credits as the API does, with the customer's own partner."""
        partner, sandbox = self.partner_of(customer), customer.sandbox

        def effect(tx: Any) -> Moved:
            customer_id = keys.acting_for(
                tx, principal(partner, sandbox), text_id(customer), changes=True
            )
            return move_credits(
                tx,
                partner.account_id,
                customer_id,
                CreditsRequest(credits, None),
                sandbox=sandbox,
                now_ms=clock.now_ms(),
            )

        try:
            return self.db.transact(effect)
        except (InsufficientCredits, Forbidden) as error:
            return error

    def check_move(self, customer: Held, credits: int, outcome: Moved | Exception) -> None:
        partner = self.partner_of(customer)
        available = (
            customer.credits if credits < 0 else credits if customer.sandbox else partner.credits
        )
        if customer.suspended:
            assert isinstance(outcome, Forbidden)
        elif abs(credits) > available:
            assert isinstance(outcome, InsufficientCredits)
            assert outcome.extra == {"required": abs(credits), "available": available}
            self.seen.add("sandbox not moved" if customer.sandbox else "not moved")
        else:
            assert isinstance(outcome, Moved)
            self.apply(customer, credits)
            assert (outcome.customers_credits, outcome.partners_credits) == (
                customer.credits,
                partner.credits,
            )
            self.seen.add(
                "sandbox moved" if customer.sandbox else "moved" if credits > 0 else "moved back"
            )

    def apply(self, customer: Held, credits: int) -> None:
        customer.credits += credits
        if not customer.sandbox:
            self.partner_of(customer).credits -= credits

    def finds(self, tx: Any, partner: Held, customer: Held, sandbox: bool) -> bool:
        try:
            keys.acting_for(tx, principal(partner, sandbox), text_id(customer))
        except NotFound:
            return False
        return True
