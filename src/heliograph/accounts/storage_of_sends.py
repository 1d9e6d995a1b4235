"""Counts what sends store for free against the storage quota of an account (`StoredKind.SENDS`), in
the awaited transaction that stores them.

It is counted under a row of `storage_used`, in order. A customer counts under its partner's row.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.accounts.quotas import (
    StorageQuotaReached,
    StoredKind,
    refusal_of,
)
from heliograph.accounts.storage_of_keys import NO_BOUND, quota_of_column
from heliograph.accounts.storage_used_sql import ADDED_TO_USED, INTO_USED
from heliograph.base.clock import DAY_MS
from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row

_COUNTED: Final = f"""{ADDED_TO_USED}
    RETURNING account_id, sandbox, octets, (
        SELECT coalesce(q.octets, {NO_BOUND}) FROM storage_quotas q
        WHERE q.account_id = storage_used.account_id AND q.kind = storage_used.kind) AS quota"""


class _StoredOctets(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    day_ms: BigInt
    octets: BigInt


class _Used(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    octets: BigInt
    quota: BigInt


_COUNT: Final = BatchStatement(
    _StoredOctets,
    _Used,
    postgresql=f"""
        {INTO_USED} SELECT g.account_id, g.sandbox, '{StoredKind.SENDS.value}', g.day_ms, g.octets
            FROM :given AS g
        ORDER BY g.account_id, g.sandbox {_COUNTED}""",
    sqlite=(
        f"{INTO_USED} VALUES (:account_id, :sandbox, '{StoredKind.SENDS.value}', :day_ms, :octets)"
        f" {_COUNTED}"
    ),
)


class QuotaOwner(NamedTuple):
    """Identifies whose quota is used: an account (raw id) that is nobody's customer, in one
    mode.
    """

    account_id: str
    sandbox: bool


class StorageRoom(NamedTuple):
    """Says how many octets may be stored today (None means no limit), and how many were stored
    before this batch.
    """

    quota: int | None
    used: int

    def refusal(
        self, taken: int, octets: int, now_ms: int, *, of_partner: bool
    ) -> StorageQuotaReached | None:
        """Returns why so many octets more are not stored today, beside those of the batch that are
        `taken` already, or None if they are.
        """
        used = self.used + taken
        return refusal_of(StoredKind.SENDS, used, octets, self.quota, now_ms, of_partner=of_partner)


async def count_unpaid(
    tx: HotTx, octets: Mapping[QuotaOwner, int], now_ms: int
) -> dict[QuotaOwner, StorageRoom]:
    """Adds octets, which may be below zero, to what each owner has had stored today. Returns the
    room that each owner had before.
    """
    day_ms = now_ms - now_ms % DAY_MS
    rooms = {}
    for used in await _COUNT.rows(
        tx,
        [
            _StoredOctets(owner.account_id, owner.sandbox, day_ms=day_ms, octets=count)
            for owner, count in sorted(octets.items())
        ],
    ):
        owner = QuotaOwner(used.account_id, used.sandbox)
        rooms[owner] = StorageRoom(
            quota_of_column(used.quota, StoredKind.SENDS), used.octets - octets[owner]
        )
    return rooms
