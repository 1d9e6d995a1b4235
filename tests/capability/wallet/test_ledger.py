"""Entries are added to the ledger, applied once, and never bring a figure below zero; and whatever
is tampered with is found.
"""

from contextlib import nullcontext
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from heliograph import wallet
from heliograph.base import ids
from heliograph.base.errors import InsufficientCredits, InvalidRequest, NotFound, ServiceError
from heliograph.base.paging import CLOCK_SLACK_MS
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.wallet import CREDITS_MAX, ledger
from heliograph.wallet.ledger import BANK_ID, ISSUANCE_ID
from heliograph.wallet.tables import ledger_entries, wallets
from tests.support.capability.cast import NOW_MS, account, at_once


def figures(db: Database, account_id: str) -> wallet.Figures:
    with db.read() as tx:
        return wallet.wallet_of(tx, account_id).figures


def wrong(db: Database) -> list[str]:
    with db.read() as tx:
        read_one_snapshot(tx)
        return [what for _, what in wallet.verify(tx)]


@pytest.mark.parametrize(
    ("ahead_ms", "later_ms"),
    [
        (-1, 0),
        (0, 0),  # in the same millisecond, this process numbers in order
        (1, 2),
        (CLOCK_SLACK_MS, CLOCK_SLACK_MS + 1),
        (CLOCK_SLACK_MS + 1, 0),  # it was meant to have another time
    ],
)
def test_an_entry_comes_after_the_newest_one_however_clocks_differ(
    db: Database, ahead_ms: int, later_ms: int
) -> None:
    first, other = account(db, "first"), account(db, "other")
    with db.write() as tx:
        alone = ledger.grant(tx, first.id, 1, "alone", now_ms=NOW_MS - 10).entry
        ledger.grant(tx, first.id, 2, "newest", now_ms=NOW_MS + ahead_ms)
        after = ledger.grant(tx, first.id, 4, "after it", now_ms=NOW_MS).entry
        elsewhere = ledger.grant(tx, other.id, 8, "of another", now_ms=NOW_MS).entry
    assert alone.created_at_ms == NOW_MS - 10
    assert after.created_at_ms == NOW_MS + later_ms
    assert elsewhere.created_at_ms == NOW_MS
    assert (after.credits_after, elsewhere.credits_after) == (7, 8)


def test_an_entry_says_what_changed_and_what_was_left(db: Database) -> None:
    owner = account(db)
    with db.write() as tx:
        given, applied, _ = ledger.grant(tx, owner.id, 500, " Invoice 17 ", "inv-17", now_ms=NOW_MS)
        paid = ledger.topup(tx, owner.id, "12.50", "cash", now_ms=NOW_MS + 1).entry
        taken = ledger.adjust_money(tx, owner.id, -2, "charges", now_ms=NOW_MS + 2).entry
    assert applied
    assert (given.type, given.credits, given.counterpart_id, given.description) == (
        "credit_grant",
        500,
        ISSUANCE_ID,
        "Invoice 17",
    )
    assert (
        paid.type,
        paid.amount_minor,
        paid.counterpart_id,
        paid.balance_after_minor,
        paid.credits_after,
    ) == ("topup", 1250, BANK_ID, 1250, 500)
    assert ledger.as_record(taken) == {
        "id": ids.text_of_raw("txn", taken.id),
        "type": "adjustment",
        "amount": -2,
        "currency": "GHS",
        "credits": 0,
        "balance_after": 10.5,
        "credits_after": 500,
        "description": "charges",
        "reference": None,
        "created_at": "2026-01-01T00:00:00.002Z",
    }
    assert figures(db, owner.id) == (1050, 500)
    assert wrong(db) == []


def test_the_same_reference_is_applied_once_for_an_account_and_type(db: Database) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    with db.write() as tx:
        first = ledger.grant(tx, owner.id, 500, "Invoice 17", "inv-17", now_ms=NOW_MS)
        again = ledger.grant(tx, owner.id, 500, "Invoice 17, again", "inv-17", now_ms=NOW_MS + 1)
        assert again == ledger.Posted(first.entry, applied=False)
        assert ledger.adjust_credits(tx, owner.id, 1, "other type", "inv-17", now_ms=NOW_MS).applied
        assert ledger.grant(tx, stranger.id, 500, "other account", "inv-17", now_ms=NOW_MS).applied
    assert (figures(db, owner.id), figures(db, stranger.id)) == ((0, 501), (0, 500))


def test_a_reference_that_was_applied_with_other_figures_is_refused_and_says_with_which(
    db: Database,
) -> None:
    owner = account(db)
    with db.write() as tx:
        ledger.grant(tx, owner.id, 5, "Invoice 17", "inv-17", now_ms=NOW_MS)
        ledger.adjust_money(tx, owner.id, "2.50", "a gift", "gift", now_ms=NOW_MS)
    with (
        pytest.raises(InvalidRequest, match="'inv-17' was already applied, with 5 SMS credits"),
        db.write() as tx,
    ):
        ledger.grant(tx, owner.id, 6, "Invoice 17", "inv-17", now_ms=NOW_MS)
    with (
        pytest.raises(InvalidRequest, match=r"'gift' was already applied, with 2\.50 GHS"),
        db.write() as tx,
    ):
        ledger.adjust_credits(tx, owner.id, 250, "a gift", "gift", now_ms=NOW_MS)
    assert figures(db, owner.id) == (250, 5)


def test_of_equal_references_at_once_one_is_applied(db: Database) -> None:
    owner = account(db)

    def grant(_: int) -> ledger.Posted:
        return db.transact(
            lambda tx: ledger.grant(tx, owner.id, 500, "Invoice 17", "inv-17", now_ms=NOW_MS)
        )

    posted = at_once(6, grant)
    assert sorted(p.applied for p in posted if isinstance(p, ledger.Posted)) == [False] * 5 + [True]
    assert figures(db, owner.id) == (0, 500)


def test_credits_are_not_spent_twice_by_many_at_once(db: Database) -> None:
    owner = account(db, credits=50)

    def take(_: int) -> ledger.Posted:
        return db.transact(
            lambda tx: ledger.adjust_credits(tx, owner.id, -20, "taken", now_ms=NOW_MS)
        )

    outcomes = [type(outcome) for outcome in at_once(6, take)]
    assert sorted(outcomes, key=str) == sorted(
        [ledger.Posted] * 2 + [InsufficientCredits] * 4, key=str
    )
    assert figures(db, owner.id) == (0, 10)
    assert wrong(db) == []


def test_what_would_leave_a_figure_below_zero_is_refused_with_both_figures(db: Database) -> None:
    owner = account(db, credits=10, balance=5)
    with db.write() as tx, pytest.raises(InsufficientCredits) as too_few_credits:
        ledger.adjust_credits(tx, owner.id, -11, "too much", now_ms=NOW_MS)
    with db.write() as tx, pytest.raises(InsufficientCredits) as too_little_money:
        ledger.adjust_money(tx, owner.id, "-5.01", "too much", now_ms=NOW_MS)
    assert (too_few_credits.value.reason, too_few_credits.value.extra) == (
        "insufficient_credits",
        {"required": 11, "available": 10},
    )
    assert (too_little_money.value.reason, too_little_money.value.extra) == (
        "insufficient_balance",
        {"required": 5.01, "available": 5},
    )
    assert figures(db, owner.id) == (500, 10)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    "post",
    [
        lambda tx, who: ledger.grant(tx, who, 0, "nothing", now_ms=NOW_MS),
        lambda tx, who: ledger.grant(tx, who, 10**15, "too many", now_ms=NOW_MS),
        lambda tx, who: ledger.topup(tx, who, -1, "below zero", now_ms=NOW_MS),
        lambda tx, who: ledger.topup(tx, who, "0.001", "too fine", now_ms=NOW_MS),
        lambda tx, who: ledger.topup(
            tx, who, "9999999999999.99", "with what is there too much", now_ms=NOW_MS
        ),
        lambda tx, who: ledger.adjust_credits(tx, who, 0, "nothing", now_ms=NOW_MS),
        lambda tx, who: ledger.adjust_money(tx, who, 0, "nothing", now_ms=NOW_MS),
        lambda tx, who: ledger.grant(tx, who, 1, " ", now_ms=NOW_MS),
        lambda tx, who: ledger.grant(tx, who, 1, "d" * 256, now_ms=NOW_MS),
        lambda tx, who: ledger.grant(tx, who, 1, "ok", "r" * 129, now_ms=NOW_MS),
    ],
)
def test_what_cannot_be_posted_is_refused(db: Database, post: Any) -> None:
    owner = account(db, balance=1)
    with db.write() as tx, pytest.raises(InvalidRequest):
        post(tx, owner.id)
    with db.write() as tx, pytest.raises(NotFound):
        ledger.grant(tx, "0" * 32, 1, "nobody", now_ms=NOW_MS)
    assert figures(db, owner.id) == (100, 0)


def test_the_smallest_and_the_largest_that_can_be_posted_are(db: Database) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    with db.write() as tx:
        ledger.grant(tx, owner.id, 1, "d" * 255, "r" * 128, now_ms=NOW_MS)
        ledger.topup(tx, owner.id, "0.01", "a pesewa", now_ms=NOW_MS)
        ledger.grant(tx, stranger.id, CREDITS_MAX, "all that fits", now_ms=NOW_MS)
        ledger.topup(tx, stranger.id, "9999999999999.99", "all that fits", now_ms=NOW_MS)
    assert (figures(db, owner.id), figures(db, stranger.id)) == (
        (1, 1),
        (999_999_999_999_999, CREDITS_MAX),
    )
    with db.write() as tx, pytest.raises(InvalidRequest):
        ledger.grant(tx, stranger.id, 1, "one more", now_ms=NOW_MS)


class Bookkeeping(RuleBasedStateMachine):
    """Keeps two accounts, and a plain sum beside each."""

    db: Database

    def __init__(self) -> None:
        super().__init__()
        self.accounts = [account(self.db, name).id for name in ("amina", "chidi")]
        self.sums = [[0, 0], [0, 0]]
        self.seen: dict[tuple[int, str, str], tuple[int, int]] = {}

    def post(self, who: int, kind: str, amount: int, reference: str | None) -> None:
        use_case, unit = {
            "grant": (ledger.grant, 1),
            "topup": (ledger.topup, 0),
            "adjust_credits": (ledger.adjust_credits, 1),
            "adjust_money": (ledger.adjust_money, 0),
        }[kind]
        entry_type = "adjustment" if kind.startswith("adjust") else kind
        known = reference is not None and (who, entry_type, reference) in self.seen
        possible = amount != 0 if entry_type == "adjustment" else amount > 0
        if known:
            assert reference is not None
            possible = possible and self.seen[who, entry_type, reference] == (unit, amount)
        enough = known or self.sums[who][unit] + amount * (1, 100)[unit == 0] >= 0
        with (
            nullcontext() if possible and enough else pytest.raises(ServiceError),
            self.db.write() as tx,
        ):
            assert (
                use_case(tx, self.accounts[who], amount, "test", reference, now_ms=NOW_MS).applied
                is not known
            )
        if possible and enough and not known:
            self.sums[who][unit] += amount * (1, 100)[unit == 0]
            if reference is not None:
                self.seen[who, entry_type, reference] = (unit, amount)

    @rule(
        who=st.sampled_from([0, 1]),
        kind=st.sampled_from(["grant", "topup", "adjust_credits", "adjust_money"]),
        amount=st.integers(-9, 9),
        reference=st.none() | st.sampled_from(["r1", "r2"]),
    )
    def posting(self, who: int, kind: str, amount: int, reference: str | None) -> None:
        self.post(who, kind, amount, reference)

    @invariant()
    def the_figures_are_the_sums(self) -> None:
        for account_id, sums in zip(self.accounts, self.sums, strict=True):
            assert list(figures(self.db, account_id)) == sums

    def teardown(self) -> None:
        assert wrong(self.db) == []


def test_after_any_postings_the_figures_are_their_sum_and_the_ledger_is_proven(
    db: Database,
) -> None:
    machine = type("BookkeepingHere", (Bookkeeping,), {"db": db})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=12, stateful_step_count=25, deadline=None)
    )


def transfer(db: Database, giver_id: str, taker_id: str, credits: int) -> None:
    """Writes what Connect will write: one entry between two customers, with the figures of both
    after it.
    """
    with db.write() as tx:
        giver, taker = (
            wallet.lock_wallet(tx, account_id).figures for account_id in (giver_id, taker_id)
        )
        tx.execute(
            ledger_entries.insert().values(
                id=ids.raw_of_number(ids.new_number(NOW_MS)),
                account_id=giver_id,
                counterpart_id=taker_id,
                type="transfer_out",
                currency="GHS",
                amount_minor=0,
                credits=-credits,
                balance_after_minor=giver.balance_minor,
                credits_after=giver.sms_credits - credits,
                counterpart_balance_after_minor=taker.balance_minor,
                counterpart_credits_after=taker.sms_credits + credits,
                description="test",
                created_at_ms=NOW_MS,
            )
        )
        for account_id, change in ((giver_id, -credits), (taker_id, credits)):
            tx.execute(
                sa.update(wallets)
                .where(wallets.c.account_id == account_id)
                .values(sms_credits=wallets.c.sms_credits + change)
            )


def entries(entry_type: str, **values: Any) -> Any:
    return ledger_entries.update().where(ledger_entries.c.type == entry_type).values(**values)


TAMPERED: dict[str, tuple[Any, str]] = {
    "a wallet's credits": (
        wallets.update().values(sms_credits=wallets.c.sms_credits + 1),
        "its entries come to",
    ),
    "a wallet's money": (wallets.update().values(balance_minor=7), "its entries come to"),
    "a wallet's currency": (
        wallets.update().values(currency="KES"),
        "is in GHS, but the wallet is in KES",
    ),
    "an entry's credits": (entries("adjustment", credits=-4), "its entries come to"),
    "figures after an entry": (
        entries("adjustment", credits_after=ledger_entries.c.credits_after + 1),
        "do not follow",
    ),
    "a removed entry": (
        ledger_entries.delete().where(ledger_entries.c.type == "adjustment"),
        "its entries come to",
    ),
    "the taker's figures": (entries("transfer_out", counterpart_credits_after=29), "do not follow"),
    "a counterpart": (entries("topup", counterpart_id="f" * 32), "what it did to its counterpart"),
    "a taker who is not there": (entries("transfer_out", counterpart_id="f" * 32), "no wallet"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_tampered_with_is_found(db: Database, what: str) -> None:
    owner, stranger = account(db, "amina", credits=100, balance=3), account(db, "chidi", credits=1)
    with db.write() as tx:
        ledger.adjust_credits(tx, owner.id, -5, "test", now_ms=NOW_MS)
    transfer(db, owner.id, stranger.id, 30)
    assert wrong(db) == []
    statement, told = TAMPERED[what]
    with db.write() as tx:
        tx.execute(statement)
    assert any(told in fault for fault in wrong(db)), wrong(db)
