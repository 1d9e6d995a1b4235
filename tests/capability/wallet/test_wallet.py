"""Wallets are opened empty, and warn when they are low."""

import pytest

from heliograph import wallet
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.wallet import Thresholds, ledger
from heliograph.wallet.wallet import Armed
from tests.support.capability.cast import NOW_MS, account


def armed_after(db: Database, account_id: str, credits: int) -> tuple[tuple[str, ...], Armed]:
    """Returns which alarms an adjustment fires, and what is armed then."""
    with db.write() as tx:
        fired = ledger.adjust_credits(tx, account_id, credits, "test", now_ms=NOW_MS).alarms
        return fired, wallet.wallet_of(tx, account_id).armed


def test_a_new_wallet_is_empty_and_armed(db: Database) -> None:
    owner = account(db)
    with db.read() as tx:
        opened = wallet.wallet_of(tx, owner.id)
        assert wallet.wallets_of(tx, [owner.id, "0" * 32]) == {owner.id: opened}
    assert (opened.currency, opened.figures, opened.thresholds, opened.armed) == (
        "GHS",
        (0, 0),
        (100, None),
        (True, True),
    )


def test_the_alarm_fires_when_credits_fall_below_a_hundred_and_again_only_after_they_were_back(
    db: Database,
) -> None:
    owner = account(db)
    # more, if still too few: no debit
    assert armed_after(db, owner.id, 50) == ((), Armed(True, True))
    assert armed_after(db, owner.id, 60) == ((), Armed(True, True))
    assert armed_after(db, owner.id, -11) == (("credits",), Armed(False, True))
    assert armed_after(db, owner.id, -11) == ((), Armed(False, True))
    assert armed_after(db, owner.id, 12) == ((), Armed(True, True))
    assert armed_after(db, owner.id, -1) == (("credits",), Armed(False, True))


def test_a_threshold_that_is_lowered_to_the_figure_arms_the_alarm_again(db: Database) -> None:
    owner = account(db, credits=100)
    armed_after(db, owner.id, -50)
    with db.write() as tx:
        assert wallet.set_low_balance(tx, owner.id, Thresholds(51, None)).armed == Armed(
            False, True
        )
        changed = wallet.set_low_balance(tx, owner.id, Thresholds(50, 1_000))
        assert changed.armed == Armed(True, True)
        assert changed.is_low  # its money, 0, lies below 10
        assert wallet.wallet_of(tx, owner.id) == changed
        for thresholds in (Thresholds(-1, None), Thresholds(None, 10**15)):
            with pytest.raises(InvalidRequest):
                wallet.set_low_balance(tx, owner.id, thresholds)


def test_what_is_no_currency_and_whose_wallet_is_not_there_is_told(db: Database) -> None:
    owner = account(db)
    with db.write() as tx:
        with pytest.raises(InvalidRequest, match="currency must be"):
            wallet.open_wallet(tx, owner.id, "GHC")
        for ask in (wallet.wallet_of, wallet.lock_wallet):
            with pytest.raises(NotFound):
                ask(tx, "0" * 32)
