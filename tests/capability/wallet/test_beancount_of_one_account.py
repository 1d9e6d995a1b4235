"""A file for beancount of one account is sound, whomever the account has dealt with."""

from pathlib import Path

import pytest
from beancount.core import data

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.database.database import Database
from heliograph.wallet import ledger
from heliograph.wallet.ledger import post
from tests.support.capability.beancount_file import checked, exported, held
from tests.support.factories import open_account

LONG_AGO_DAYS = 70


def customers_of(db: Database) -> dict[str, str]:
    """Opens a partner and two customers, which have dealt with each other in two months. Returns
    their raw ids by name.
    """
    partner = open_account(db, "partner", sender=None)
    names = ("bilal", "dede")
    with_ids = {name: open_account(db, name, parent_id=partner, sender=None) for name in names}
    for days_ago in (LONG_AGO_DAYS, 0):
        clock.move(-days_ago * clock.DAY_MS)
        with db.write() as tx:
            ledger.topup(tx, partner, "25.50", "paid", now_ms=clock.now_ms())
            ledger.grant(tx, partner, 500, "welcome", now_ms=clock.now_ms())
        for customer in with_ids.values():
            deal(db, partner, customer)
        clock.move(days_ago * clock.DAY_MS)
    return {"partner": partner, **with_ids}


def deal(db: Database, partner: str, customer: str) -> None:
    """Moves credits and money both ways, and spends some of them on both sides."""
    with db.write() as tx:
        wallet.transfer(tx, partner, customer, credits=90, amount_minor=450, description="given")
        wallet.transfer(
            tx, customer, partner, credits=20, amount_minor=125, description="taken back"
        )
        for account_id in (customer, partner):
            for kind, credits in (("sms_charge", -30), ("sms_refund", 7)):
                post(
                    tx,
                    account_id,
                    kind,
                    ledger.SALES_ID,
                    credits=credits,
                    description="s",
                    now_ms=clock.now_ms(),
                )


@pytest.mark.parametrize("name", ["partner", "bilal", "dede"])
def test_bean_check_proves_the_file_of_one_account_among_those_it_dealt_with(
    db: Database, tmp_path: Path, name: str
) -> None:
    account_ids = customers_of(db)
    now_ms = clock.now_ms()
    with db.read() as tx:
        has = wallet.wallet_of(tx, account_ids[name]).figures
    months = ("", rfc3339(now_ms)[:7], rfc3339(now_ms - LONG_AGO_DAYS * clock.DAY_MS)[:7])
    for month in months:
        options = ("--month", month) if month else ()
        text = exported(db, tmp_path, "--format", "beancount", "--account", name, *options)
        entries = checked(text, tmp_path)
        of_month = [
            entry
            for entry in entries
            if isinstance(entry, data.Transaction) and entry.narration == "taken back"
        ]
        deals = 1 if month else 2
        assert len(of_month) == deals * (2 if name == "partner" else 1)
        asserted = {each.account for each in entries if isinstance(each, data.Balance)}
        assert len(asserted) == 1, "of the others the file has only some entries"
        if month != months[-1]:
            figures = held(entries)[name]
            assert (figures["SMS-CREDITS"], figures["GHS"]) == (
                has.sms_credits,
                has.balance_minor,
            )
