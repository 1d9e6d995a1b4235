"""Stores figures of wallets that awaited transactions have counted under the wallets' locks."""

from collections.abc import Sequence
from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Int, Nothing, Row


class CountedKeys(Row, frozen=True):
    """Holds the octets of Idempotency-Keys that an account has stored on a day, in each mode."""

    account_id: Id
    day: Int
    live: BigInt
    sandbox: BigInt


class RefundedWallet(Row, frozen=True):
    """Holds a wallet's credits and alarm after refunds."""

    account_id: Id
    sms_credits: BigInt
    armed: Bool


_COUNT_KEYS: Final = BatchStatement(
    CountedKeys,
    Nothing,
    postgresql="""
        UPDATE wallets SET keys_day = g.day, keys_octets = g.live, sandbox_keys_octets = g.sandbox
        FROM :given AS g WHERE wallets.account_id = g.account_id""",
    sqlite="""
        UPDATE wallets SET keys_day = :day, keys_octets = :live, sandbox_keys_octets = :sandbox
            WHERE account_id = :account_id""",
)
_REFUND: Final = BatchStatement(
    RefundedWallet,
    Nothing,
    postgresql="""
        UPDATE wallets SET sms_credits = g.sms_credits, credits_alarm_armed = g.armed
            FROM :given AS g WHERE wallets.account_id = g.account_id""",
    sqlite="""
        UPDATE wallets SET sms_credits = :sms_credits, credits_alarm_armed = :armed
            WHERE account_id = :account_id""",
)


async def store_counted_keys(tx: HotTx, counts: Sequence[CountedKeys]) -> None:
    """Stores new counts of keys in wallets that are locked."""
    await _COUNT_KEYS.rows(tx, counts)


async def store_refunded(tx: HotTx, refunded: Sequence[RefundedWallet]) -> None:
    """Stores the credits of locked wallets after refunds. The caller writes the ledger entries."""
    await _REFUND.rows(tx, refunded)
