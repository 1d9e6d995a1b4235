"""A month's statement adds up to what the ledger says."""

from datetime import UTC, datetime

import pytest

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InvalidRequest
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.wallet import Figures, account_ledger, files, ledger
from tests.support.factories import open_account


def month_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m")


def test_a_statement_adds_up_to_the_ledger(db: Database) -> None:
    now_ms = clock.now_ms()
    partner = open_account(db, "partner", credits=500)
    customer = open_account(db, "customer", parent_id=partner, sender=None)
    with db.write() as tx:
        ledger.topup(tx, partner, "12.50", "paid", now_ms=now_ms)
        ledger.adjust_money(tx, partner, "-2.50", "fee", now_ms=now_ms)
        wallet.transfer(tx, partner, customer, credits=40, description="moved")
    month = month_of(now_ms)
    with db.read() as tx:
        for account_id, closing in ((partner, Figures(1_000, 460)), (customer, Figures(0, 40))):
            told = files.statement(tx, account_id, month)
            entries = account_ledger.page(tx, account_id, PageWanted(100, None), told.span)
            assert told.is_proven
            assert (told.opening, told.closing) == (Figures(0, 0), closing)
            assert sum(each.entries for each in told.sums) == len(entries)
            assert sum(each.credits for each in told.sums) == sum(e.credits for e in entries)
            assert sum(each.amount_minor for each in told.sums) == sum(
                entry.amount_minor for entry in entries
            )
        file = files.statement_file(files.statement(tx, partner, month)).splitlines()
    assert file[0] == "month,line,entries,credits,amount,currency"
    assert file[-1] == f"{month},closing,,460,10,GHS"
    assert f"{month},transfer_out,1,-40,0,GHS" in file


def test_an_entry_that_waited_for_the_wallet_stands_behind_those_it_waited_for(
    db: Database,
) -> None:
    partner = open_account(db, "partner", credits=500, sender=None)
    customer = open_account(db, "customer", parent_id=partner, sender=None)
    asked_ms = clock.now_ms()
    clock.move(2_000)  # meanwhile others have the wallets
    with db.write() as tx:
        wallet.transfer(tx, partner, customer, credits=40, description="moved")
    with db.write() as tx:
        for account_id in (partner, customer):
            ledger.grant(tx, account_id, 7, "asked before", now_ms=asked_ms)
    with db.read() as tx:
        for account_id, credits in ((partner, 467), (customer, 47)):
            told = files.statement(tx, account_id, month_of(clock.now_ms()))
            assert told.closing == Figures(0, credits) == wallet.wallet_of(tx, account_id).figures
            assert told.is_proven
            newest, *_ = account_ledger.page(tx, account_id, PageWanted(1, None))
            assert (newest.description, newest.credits_after) == ("asked before", credits)


def test_a_transfer_stands_behind_what_a_process_with_a_faster_clock_has_posted(
    db: Database,
) -> None:
    partner = open_account(db, "partner", credits=500, sender=None)
    customer = open_account(db, "customer", parent_id=partner, sender=None)
    ahead_ms = clock.now_ms() + 2_000
    for account_id in (partner, customer):
        with db.write() as tx:
            ledger.grant(tx, account_id, 7, "by the other process", now_ms=ahead_ms)
        with db.write() as tx:
            wallet.transfer(tx, partner, customer, credits=40, description="moved")
    with db.read() as tx:
        for account_id, credits in ((partner, 427), (customer, 87)):
            told = files.statement(tx, account_id, month_of(ahead_ms))
            assert told.closing == Figures(0, credits) == wallet.wallet_of(tx, account_id).figures
            assert told.is_proven


def test_a_month_without_entries_opens_and_closes_alike(db: Database) -> None:
    account_id = open_account(db, "quiet", credits=7)
    clock.move(by_ms=62 * DAY_MS)  # to a month in which nothing has moved
    with db.read() as tx:
        told = files.statement(tx, account_id, month_of(clock.now_ms()))
    assert told.sums == []
    assert told.opening == told.closing == Figures(0, 7)


@pytest.mark.parametrize(
    "month",
    [
        "",
        "2026-13",
        "november",
        "9998-12",
        "9999-12",
        "2026-11-01",
        "2026-1",
        "1969-12",
        "202\uff16-11",
    ],
)
def test_what_is_no_month_is_refused(db: Database, amina_id: str, month: str) -> None:
    with db.read() as tx, pytest.raises(InvalidRequest, match="month must be"):
        files.statement(tx, amina_id, month)
