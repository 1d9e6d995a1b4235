"""The sums by hour are those of the ledger, whenever they are asked for."""

from collections import Counter

import sqlalchemy as sa

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.wallet import account_ledger, ledger
from heliograph.wallet.ledger import post
from heliograph.wallet.ledger_hours import COMPLETE_AFTER_MS, HOURS_KEPT_MS, summed_days
from heliograph.wallet.tables import ledger_hours
from tests.support.factories import open_account


def lived(db: Database, account_ids: list[str], days: int) -> None:
    """Makes entries on some days before now, and some of this moment."""
    now_ms = clock.now_ms()
    for day in range(days, -1, -1):
        with db.write() as tx:
            for place, account_id in enumerate(account_ids):
                at_ms = now_ms - day * DAY_MS - place * HOUR_MS
                ledger.grant(tx, account_id, 100 + day, "gift", now_ms=at_ms)
                ledger.topup(tx, account_id, "1.50", "paid", now_ms=at_ms)
                post(
                    tx,
                    account_id,
                    "sms_charge",
                    ledger.SALES_ID,
                    credits=-7,
                    description="s",
                    now_ms=at_ms,
                )


def by_day_of_lists(db: Database, account_ids: list[str]) -> dict[tuple[int, str], Counter[str]]:
    """Adds up what the accounts read of the ledger."""
    found: dict[tuple[int, str], Counter[str]] = {}
    with db.read() as tx:
        for account_id in account_ids:
            for entry in account_ledger.page(tx, account_id, PageWanted(1_000, None)):
                key = (entry.created_at_ms - entry.created_at_ms % DAY_MS, entry.type)
                found.setdefault(key, Counter()).update(
                    entries=1, credits=entry.credits, amount_minor=entry.amount_minor
                )
    return found


def moved_both_ways(db: Database, partner: str, customer: str) -> None:
    with db.write() as tx:
        wallet.transfer(tx, partner, customer, credits=50, amount_minor=20, description="given")
        wallet.transfer(tx, customer, partner, credits=8, amount_minor=5, description="back")


def by_day(db: Database, account_id: str | None) -> dict[tuple[int, str], Counter[str]]:
    with db.read() as tx:
        summed = summed_days(tx, account_id, clock.now_ms())
    assert summed.missing_from_ms is None
    return {
        (each.day_ms, each.type): Counter(
            entries=each.entries, credits=each.credits, amount_minor=each.amount_minor
        )
        for each in summed.days
    }


def added_up(db: Database) -> int:
    hours = 0
    while add_up_hour(db):
        hours += 1
    return hours


def test_the_sums_by_day_are_those_of_the_ledger_at_each_moment(db: Database) -> None:
    amina_id = open_account(db, "amina", sender=None)
    bilal = open_account(db, "bilal", sender=None, parent_id=amina_id)
    account_ids = [amina_id, bilal, open_account(db, "chidi", sender=None)]
    lived(db, account_ids, days=5)
    moved_both_ways(db, amina_id, bilal)
    assert added_up(db) >= 10
    for moved_ms in (0, COMPLETE_AFTER_MS, HOUR_MS + COMPLETE_AFTER_MS):
        clock.move(moved_ms)
        added_up(db)
        for account_id in account_ids:
            assert by_day(db, account_id) == by_day_of_lists(db, [account_id])
        assert by_day(db, None) == by_day_of_lists(db, account_ids)
        moved_both_ways(db, amina_id, bilal)
    with db.read() as tx:
        assert wallet.verify_hours(tx, clock.now_ms()) == []


def test_sums_that_are_not_there_yet_are_said_to_be_missing(db: Database) -> None:
    account_id = open_account(db, "amina", sender=None)
    lived(db, [account_id], days=2)
    with db.read() as tx:
        summed = summed_days(tx, None, clock.now_ms())
    assert summed.missing_from_ms is not None
    assert summed.days == []


def test_an_hour_is_added_up_when_no_entry_can_come_any_more(db: Database) -> None:
    account_id = open_account(db, "amina", sender=None)
    now_ms = clock.now_ms()
    clock.move(HOUR_MS - now_ms % HOUR_MS)
    with db.write() as tx:
        ledger.grant(tx, account_id, 5, "gift", now_ms=clock.now_ms())
    clock.move(HOUR_MS + COMPLETE_AFTER_MS - 60_000)
    assert added_up(db) == 0
    clock.move(120_000)
    assert added_up(db) == 1
    clock.move(HOURS_KEPT_MS)
    with db.write() as tx:
        ledger.grant(tx, account_id, 5, "gift", now_ms=clock.now_ms())
    clock.move(2 * HOUR_MS)
    assert added_up(db) == 1
    with db.read() as tx:
        kept = tx.execute(sa.select(ledger_hours.c.at_ms).distinct()).scalars().all()
    assert len(kept) == 1, "the hour that has served its time is deleted"


def test_the_proof_finds_a_sum_that_was_changed(db: Database) -> None:
    account_id = open_account(db, "amina", sender=None)
    lived(db, [account_id], days=1)
    added_up(db)
    with db.write() as tx:
        tx.execute(
            sa.update(ledger_hours)
            .where(ledger_hours.c.account_id == account_id, ledger_hours.c.type == "topup")
            .values(amount_minor=ledger_hours.c.amount_minor + 1)
        )
    with db.read() as tx:
        (found,) = wallet.verify_hours(tx, clock.now_ms())
    assert found.account_id == account_id
    assert "the sums by hour of topup, GHS" in found.what


def test_the_proof_holds_after_months_in_which_nothing_was_added_up(db: Database) -> None:
    account_id = open_account(db, "amina", sender=None)
    lived(db, [account_id], days=4)
    assert added_up(db) == 4
    for _ in range(2):  # months in which it is used, and no process adds anything up
        clock.move(HOURS_KEPT_MS - 10 * DAY_MS)
        lived(db, [account_id], days=1)
    assert added_up(db) > 0
    with db.read() as tx:
        kept = set(tx.execute(sa.select(ledger_hours.c.at_ms)).scalars())
        assert min(kept) < clock.now_ms() - HOURS_KEPT_MS, "hours are deleted one by one"
        assert wallet.verify_hours(tx, clock.now_ms()) == []
        tx.execute(
            sa.delete(ledger_hours).where(
                ledger_hours.c.at_ms == max(kept), ledger_hours.c.account_id == account_id
            )
        )
        assert wallet.verify_hours(tx, clock.now_ms()) != [], "newer hours are looked at"


def test_hours_that_an_older_version_has_added_up_are_added_up_again(db: Database) -> None:
    amina_id = open_account(db, "amina", sender=None)
    bilal = open_account(db, "bilal", sender=None, parent_id=amina_id)
    lived(db, [amina_id], days=2)
    moved_both_ways(db, amina_id, bilal)
    clock.move(HOUR_MS + COMPLETE_AFTER_MS)
    hours = added_up(db)
    with db.write() as tx:  # as the version before stores them
        tx.execute(sa.delete(ledger_hours).where(ledger_hours.c.account_id == bilal))
        tx.execute(sa.update(ledger_hours).values(has_takers=False))
    assert added_up(db) == hours
    assert by_day(db, bilal) == by_day_of_lists(db, [bilal])
    with db.read() as tx:
        assert wallet.verify_hours(tx, clock.now_ms()) == []
