"""The ledger is exported as CSV and for beancount, whose own parser proves the sums."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from beancount import loader
from beancount.core import data

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS, rfc3339
from heliograph.base.paging import ALWAYS
from heliograph.database.database import Database
from heliograph.wallet import ledger, prices
from heliograph.wallet.files import CsvLedger, ExportWanted, ledger_export
from heliograph.wallet.ledger import post
from tests.support.capability.beancount_file import checked, exported, held, told
from tests.support.factories import open_account

HOSTILE = 'ends "here" \\" * 2026-01-01 open Assets:Stolen'
LONG_AGO_DAYS = 70
PIECE = 40  # entries; a whole one takes ten seconds to be filled


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_export, "PIECE", PIECE)


def lived(db: Database, now_ms: int) -> tuple[str, str]:
    """Makes a partner and a customer with entries of every kind, some of them long ago."""
    partner = open_account(db, 'Amina "Foods" \\', credits=0)
    customer = open_account(db, "customer", parent_id=partner, sender=None)
    long_ago_ms = now_ms - LONG_AGO_DAYS * DAY_MS
    with db.write() as tx:
        ledger.topup(tx, partner, "12.50", "paid", "=1+1", now_ms=long_ago_ms)
        ledger.grant(tx, partner, 60, HOSTILE, now_ms=long_ago_ms)
    with db.write() as tx:
        ledger.adjust_money(tx, partner, "-2.50", "fee", now_ms=now_ms)
        prices.set_price(tx, "GHS", "1", 20)
        prices.buy_credits(tx, partner, 40, now_ms=now_ms)
        wallet.transfer(tx, partner, customer, credits=40, description="moved")
        for kind, credits in (("sms_charge", -3), ("sms_refund", 1)):
            post(
                tx, customer, kind, ledger.SALES_ID, credits=credits, description="s", now_ms=now_ms
            )
    return partner, customer


def test_beancount_proves_that_accounts_hold_what_their_entries_say(
    db: Database, tmp_path: Path
) -> None:
    now_ms = clock.now_ms()
    partner, customer = lived(db, now_ms)
    with db.read() as tx:
        wallets = [wallet.wallet_of(tx, each).figures for each in (partner, customer)]
    entries = checked(exported(db, tmp_path, "--format", "beancount"), tmp_path)
    assert held(entries) == {
        'Amina "Foods" \\': {
            "SMS-CREDITS": wallets[0].sms_credits,
            "GHS": wallets[0].balance_minor,
        },
        "customer": {"SMS-CREDITS": wallets[1].sms_credits},
    }
    assert HOSTILE in [each.narration for each in entries if isinstance(each, data.Transaction)]
    assert "Assets:Stolen" not in {each.account for each in entries if isinstance(each, data.Open)}
    month = rfc3339(now_ms)[:7]
    only_month = exported(db, tmp_path, "--format", "beancount", "--month", month)
    assert held(checked(only_month, tmp_path)) == held(entries), "it begins with what was held"
    one = exported(db, tmp_path, "--format", "beancount", "--account", "customer")
    assert "moved" in one, "what others gave it is there too"
    assert held(checked(one, tmp_path))["customer"]["SMS-CREDITS"] == wallets[1].sms_credits


def test_beancount_finds_an_entry_that_was_changed(db: Database, tmp_path: Path) -> None:
    lived(db, clock.now_ms())
    text = exported(db, tmp_path, "--format", "beancount")
    changed = text.replace(" 3 SMS-CREDITS", " 4 SMS-CREDITS").replace(
        " -3 SMS-CREDITS", " -4 SMS-CREDITS"
    )
    assert changed != text
    (tmp_path / "changed.beancount").write_text(changed)
    _, errors, _ = loader.load_file(str(tmp_path / "changed.beancount"))
    assert "Balance failed" in told(errors)


@pytest.mark.usefixtures("short_pieces")
def test_the_whole_ledger_is_exported_as_csv_piece_by_piece(db: Database, tmp_path: Path) -> None:
    now_ms = clock.now_ms()
    lived(db, now_ms)
    other = open_account(db, "other")
    with db.write() as tx:
        for _ in range(PIECE + 1):
            ledger.grant(tx, other, 1, "gift", now_ms=now_ms)
    rows = list(csv.DictReader(StringIO(exported(db, tmp_path))))
    with db.read() as tx:
        count = wallet.size(tx)["ledger_entries"]
    assert len({row["id"] for row in rows}) == len(rows) == count
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    (moved,) = [row for row in rows if row["type"] == "transfer_out"]
    assert moved["account_id"].startswith("acc_")
    assert moved["counterpart"].startswith("cus_")
    assert (moved["credits"], moved["counterpart_credits_after"]) == ("-40", "40")
    (paid,) = [row for row in rows if row["type"] == "topup"]
    assert (paid["counterpart"], paid["amount"], paid["reference"]) == ("bank", "12.5", "'=1+1")


@pytest.mark.usefixtures("short_pieces")
def test_an_entry_that_is_committed_late_is_not_missed_while_later_ones_are_exported(
    db: Database,
) -> None:
    now_ms = clock.now_ms()
    amina_id, chidi = open_account(db, "amina"), open_account(db, "chidi")

    def give(account_id: str, description: str, count: int, at_ms: int) -> None:
        with db.write() as tx:
            for _ in range(count):
                ledger.grant(tx, account_id, 1, description, now_ms=at_ms)

    give(chidi, "long ago", PIECE + 1, now_ms - DAY_MS)
    give(chidi, "before", PIECE + 1, now_ms)
    read, of = ledger_export.read_pieces(ExportWanted(ALWAYS), CsvLedger()), CsvLedger()
    text, above = of.head(), None
    while True:
        with db.snapshot() as tx:
            piece, above = read(tx, above)
        text += piece
        if above is None:
            break
        if "before" in piece:
            # its id was made before those that were read, and its transaction has waited
            give(amina_id, "late", 1, now_ms - HOUR_MS // 60)
            give(chidi, "after it", 1, clock.now_ms())
    rows = [row["description"] for row in csv.DictReader(StringIO(text))]
    assert rows.count("long ago") == rows.count("before") == PIECE + 1
    assert rows.count("late") == rows.count("after it")
