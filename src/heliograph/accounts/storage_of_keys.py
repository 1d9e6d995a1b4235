"""Counts Idempotency-Keys in the row of a wallet. Sends lock and write that row anyway, so counting
costs them no row of its own.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.quotas import MEASURES, StorageQuotaReached, StoredKind, refusal_of
from heliograph.accounts.tables import storage_quotas
from heliograph.base.clock import DAY_MS

_ROW_OCTETS: Final = MEASURES[StoredKind.KEYS].row_octets
NO_BOUND: Final = -1  # in place of a quota where SQL tells it, for NULL says that none was set


@dataclass(slots=True)
class KeyCount:
    """Counts the octets of keys on one day, for each mode. `changed` says that the row must be
    written.
    """

    day: int  # since 1970
    live: int
    sandbox: int
    changed: bool = False

    def refusal(
        self, octets: int, quota: int | None, now_ms: int, *, sandbox: bool
    ) -> StorageQuotaReached | None:
        """Returns why a key of so many octets is not stored today, or None if it is. `quota` None
        means no bound.
        """
        used = self.used(now_ms, sandbox=sandbox)
        return (
            None
            if quota is None or used + octets <= quota
            else refusal_of(StoredKind.KEYS, used, octets, quota, now_ms)
        )

    def used(self, now_ms: int, *, sandbox: bool) -> int:
        """Returns how many octets were stored today."""
        return (self.sandbox if sandbox else self.live) if self.day >= now_ms // DAY_MS else 0

    def add(self, octets: int, now_ms: int, *, sandbox: bool) -> None:
        """Counts one more key that is stored."""
        if self.day < now_ms // DAY_MS:
            self.day, self.live, self.sandbox = now_ms // DAY_MS, 0, 0
        if sandbox:
            self.sandbox += octets
        else:
            self.live += octets
        self.changed = True


def quotas_of(tx: Connection, account_ids: Collection[str]) -> dict[str, int | None]:
    """Returns the quota of each of these accounts (raw ids); None means no bound."""
    table = storage_quotas.c
    own = {
        row.account_id: row.octets
        for row in tx.execute(
            sa.select(table.account_id, table.octets).where(
                table.account_id.in_(account_ids), table.kind == StoredKind.KEYS.value
            )
        )
    }
    return {
        account_id: own.get(account_id, MEASURES[StoredKind.KEYS].octets_a_day)
        for account_id in account_ids
    }


def octets_of(path: str, key: str | None) -> int:
    """Returns what the row of an Idempotency-Key takes, without an answer. It is hot: it is
    called once for each send.
    """
    assert key is not None
    return _ROW_OCTETS + len(path) + (len(key) if key.isascii() else len(key.encode()))


def quota_of_column(octets: int | None, kind: StoredKind = StoredKind.KEYS) -> int | None:
    """Returns a quota from the value that SQL returns: NULL where none was set, and NO_BOUND where
    there is no bound, which becomes None.
    """
    if octets is None:
        return MEASURES[kind].octets_a_day
    return None if octets == NO_BOUND else octets
