"""Partners, their customers and the operator may do anything with money, in any order and at once:
nothing is made or lost on the way between them, nobody falls below zero, each reference makes one
customer, and nobody sees another's.
"""

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from heliograph import accounts, wallet
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits
from heliograph.base.paging import PageWanted
from heliograph.connect.credits import Moved
from heliograph.connect.customer import by_id as connect_by_id
from heliograph.connect.customer import page as connect_page
from heliograph.connect.provision import CurrencyMismatch, Provisioned
from heliograph.keys.authenticate import PRINCIPALS
from heliograph.wallet import ledger, money, prices
from heliograph.wallet.tables import wallets
from tests.support.books import BOOKS_EVERY, assert_books_agree
from tests.support.capability.cast import at_once
from tests.support.property.holders import Held
from tests.support.property.lives import lives
from tests.support.property.partners import Partners

REFS = st.sampled_from([None, "a", "b", "c", "d"])
CREDITS = st.sampled_from([0, 0, 1, 7, 60, 10_000])
MINOR = st.sampled_from([0, 0, 1, 99, 250, 10**6])
MOVES = st.sampled_from([1, 5, 40, -1, -5, -40, 10_000, -10_000])
PRICES = {"GHS": 35, "KWD": 5, "JPY": 3}  # of 10 credits, in minor units
SITUATIONS = {
    "made",
    "made for nothing",
    "found again",
    "too few credits",
    "too little money",
    "other currency with money",
    "moved",
    "moved back",
    "not moved",
    "sandbox made",
    "sandbox moved",
    "sandbox not moved",
    "bought",
    "not bought",
    "a race for one customer",
    "a race of moves",
    "suspended",
    "resumed",
}


class Connect(Partners):
    """The machine is two partners, all their customers, and the operator."""

    def teardown(self) -> None:
        self.meet_the_rest()
        self.everybody_has_what_he_should()
        self.the_books_agree()
        self.db.close()

    @initialize()
    def begin(self) -> None:
        with self.db.write() as tx:
            for currency, minor in PRICES.items():
                prices.set_price(tx, currency, money.to_text(minor, currency).split()[0], 10)
            for name, currency in (("amina", "GHS"), ("chidi", "KWD")):
                account = accounts.create(tx, name, "GH", daily_credits=None, now_ms=clock.now_ms())
                wallet.open_wallet(tx, account.id, currency)
                self.partners.append(Held(account.id, currency))
        self.pay_in(0, 100, 500)
        self.pay_in(1, 50, 2_500)

    # what may happen

    @rule(who=st.integers(0, 1), credits=st.integers(1, 100), minor=st.integers(1, 1_000))
    def pay_in(self, who: int, credits: int, minor: int) -> None:
        partner = self.partners[who]
        with self.db.write() as tx:
            ledger.grant(tx, partner.account_id, credits, "given", now_ms=clock.now_ms())
            ledger.topup(
                tx,
                partner.account_id,
                money.to_text(minor, partner.currency).split()[0],
                "paid in",
                now_ms=clock.now_ms(),
            )
        partner.credits += credits
        partner.minor += minor

    @rule(
        who=st.integers(0, 1),
        ref=REFS,
        credits=CREDITS,
        minor=MINOR,
        sandbox=st.booleans(),
        currency=st.sampled_from([None, "GHS", "KWD", "JPY"]),
    )
    def provision(
        self,
        who: int,
        ref: str | None,
        credits: int,
        minor: int,
        sandbox: bool,
        currency: str | None,
    ) -> None:
        partner, there = self.partners[who], self.with_ref(who, ref, sandbox)
        outcome = self.provisioned(
            partner, self.request(partner, ref, credits, minor, currency), sandbox
        )
        if isinstance(outcome, Provisioned):
            assert outcome.created is (there is None)
            self.note(who, outcome, sandbox, ref)
            self.seen.add(
                "found again"
                if there
                else "sandbox made"
                if sandbox
                else "made"
                if credits or minor
                else "made for nothing"
            )
            return
        assert there is None
        if isinstance(outcome, InsufficientCredits):
            short_of_credits = credits > partner.credits
            assert (sandbox, short_of_credits or minor > partner.minor) == (False, True)
            assert outcome.reason == (
                "insufficient_credits" if short_of_credits else "insufficient_balance"
            )
            self.seen.add("too few credits" if short_of_credits else "too little money")
        else:
            assert (type(outcome), minor > 0, currency in (None, partner.currency)) == (
                CurrencyMismatch,
                True,
                False,
            )
            self.seen.add("other currency with money")

    @precondition(lambda self: self.customers)
    @rule(which=st.integers(0, 99), credits=MOVES)
    def move(self, which: int, credits: int) -> None:
        customer = self.customers[which % len(self.customers)]
        self.check_move(customer, credits, self.moved(customer, credits))

    @rule(
        who=st.integers(0, 1),
        ref=st.sampled_from(["a", "b", "c", "d"]),
        credits=st.sampled_from([0, 1, 7]),
    )
    def race_for_one_customer(self, who: int, ref: str, credits: int) -> None:
        partner, there = self.partners[who], self.with_ref(who, ref, False)
        request = self.request(partner, ref, credits, 0, None)
        outcomes = at_once(6, lambda k: self.provisioned(partner, request, False))
        if not there and credits > partner.credits:
            assert all(isinstance(outcome, InsufficientCredits) for outcome in outcomes)
            return
        found = [outcome for outcome in outcomes if isinstance(outcome, Provisioned)]
        assert Counter(outcome.created for outcome in found) == (
            {False: 6} if there else {True: 1, False: 5}
        )
        assert len({outcome.customer for outcome in found}) == 1
        self.note(
            who, next((outcome for outcome in found if outcome.created), found[0]), False, ref
        )
        self.seen.add("a race for one customer")

    @precondition(lambda self: self.live())
    @rule(moves=st.lists(st.tuples(st.integers(0, 99), MOVES), min_size=2, max_size=8))
    def race_of_moves(self, moves: list[tuple[int, int]]) -> None:
        """Moves credits up and down between all of them, in an order that is nobody's to say."""
        live = self.live()
        wanted = [(live[which % len(live)], credits) for which, credits in moves]
        outcomes = at_once(len(wanted), lambda k: self.moved(*wanted[k]))
        for (customer, credits), outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, Moved):
                self.apply(customer, credits)
            else:
                assert isinstance(outcome, InsufficientCredits), outcome
                assert outcome.extra["required"] == abs(credits) > outcome.extra["available"] >= 0
        self.seen.add("a race of moves")

    @rule(which=st.integers(0, 99), credits=st.sampled_from([1, 3, 10, 70]))
    def buy(self, which: int, credits: int) -> None:
        live = [*self.partners, *self.live()]
        buyer = live[which % len(live)]
        cost = -(-credits * PRICES[buyer.currency] // 10)
        try:
            self.db.transact(
                lambda tx: prices.buy_credits(tx, buyer.account_id, credits, now_ms=clock.now_ms())
            )
        except InsufficientCredits:
            assert cost > buyer.minor
            self.seen.add("not bought")
        else:
            buyer.minor, buyer.credits = buyer.minor - cost, buyer.credits + credits
            self.seen.add("bought")

    @precondition(lambda self: self.customers)
    @rule(which=st.integers(0, 99), suspended=st.booleans())
    def suspend_or_resume(self, which: int, suspended: bool) -> None:
        everybody = [*self.partners, *self.customers]
        who = everybody[which % len(everybody)]
        with self.db.write() as tx:
            (accounts.suspend if suspended else accounts.resume)(tx, who.account_id)
        who.suspended = suspended
        self.seen.add("suspended" if suspended else "resumed")

    def meet_the_rest(self) -> None:
        """Does some more of everything, so that each situation is met."""
        self.pay_in(0, 100, 500)
        for credits, minor, currency in (
            (5, 5, None),
            (0, 0, "JPY"),
            (10**6, 0, None),
            (0, 10**6, None),
            (0, 1, "JPY"),
        ):
            self.provision(0, None, credits, minor, False, currency)
        self.provision(0, "e", 1, 0, True, None)
        self.provision(0, "e", 10**6, 10**6, True, None)
        sandbox, live = (
            len(self.customers) - 1,
            next(
                k
                for k, customer in enumerate(self.customers)
                if not customer.sandbox and not customer.partner
            ),
        )
        for which in (sandbox, live):
            self.suspend_or_resume(which + 2, False)
            self.suspend_or_resume(0, False)
            for credits in (5, -1, -(10**6)):
                self.move(which, credits)
        self.race_for_one_customer(0, "a", 1)
        self.race_of_moves([(0, 5), (1, -1), (0, -1), (1, 5)])
        for credits in (1, 10**6):
            self.buy(0, credits)
        self.suspend_or_resume(live + 2, True)
        self.a_suspended_customer_and_a_suspended_partners_are_shown_so_and_refused()

    # what must hold

    @invariant()
    def the_books_agree_every_few_steps(self) -> None:
        self.steps += 1
        if self.steps % BOOKS_EVERY == 0:
            self.the_books_agree()

    def the_books_agree(self) -> None:
        with self.db.read() as tx:
            assert wallet.verify(tx) == []
        assert_books_agree(self.db)

    @invariant()
    def everybody_has_what_he_should(self) -> None:
        with self.db.read() as tx:
            held = wallet.wallets_of(
                tx, [one.account_id for one in (*self.partners, *self.customers)]
            )
        for one in (*self.partners, *self.customers):
            assert held[one.account_id].visible_figures == one.figures
            assert min(one.figures) >= 0
            assert held[one.account_id].figures == ((0, 0) if one.sandbox else one.figures)

    @invariant()
    def what_a_partner_has_spent_today_is_what_its_customers_have_of_it(self) -> None:
        with self.db.read() as tx:
            rows = {row.account_id: row for row in tx.execute(wallets.select())}
        for who, partner in enumerate(self.partners):  # nobody sends here
            assert rows[partner.account_id].spent_credits == sum(
                rows[one.account_id].moved_credits for one in self.customers if one.partner == who
            )

    @invariant()
    def each_partner_finds_its_own_and_nobody_elses(self) -> None:
        for who, partner in enumerate(self.partners):
            for sandbox in (False, True):
                with self.db.read() as tx:
                    listed = connect_page(
                        tx, partner.account_id, PageWanted(1_000, None), sandbox=sandbox
                    )
                    assert {one.account_id for one in listed} == {
                        one.account_id
                        for one in self.customers
                        if (one.partner, one.sandbox) == (who, sandbox)
                    }
                    for one in self.customers[-3:]:
                        assert self.finds(tx, partner, one, sandbox) is (
                            (one.partner, one.sandbox) == (who, sandbox)
                        )

    @invariant()
    def a_suspended_customer_and_a_suspended_partners_are_shown_so_and_refused(self) -> None:
        for one in self.customers[-3:]:
            partner = self.partner_of(one)
            is_suspended = one.suspended or partner.suspended
            with self.db.read() as tx:
                assert (
                    connect_by_id(
                        tx, partner.account_id, one.account_id, sandbox=one.sandbox
                    ).suspended
                    is is_suspended
                )
                assert PRINCIPALS.load(tx, [one.key])[one.key].suspended is is_suspended


def test_nothing_is_made_or_lost_between_partners_and_customers(
    database_url: str, emptied: Callable[[], str]
) -> None:
    reached: Counter[str] = Counter()

    class ConnectHere(Connect):
        def __init__(self) -> None:
            super().__init__(emptied())

        def teardown(self) -> None:
            super().teardown()
            reached.update(self.seen)

    run_state_machine_as_test(
        ConnectHere,
        settings=settings(
            max_examples=lives(database_url, 8),
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert set(reached) == SITUATIONS, "what the machine must have come through"
