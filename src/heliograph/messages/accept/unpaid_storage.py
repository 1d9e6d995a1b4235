"""Counts what sends store for free against the account's storage quota (`StoredKind.SENDS`):
sandbox sends with their messages, and what is kept of recipients that were rejected or duplicate. A
live message that goes out costs credits, and is not counted.

It is counted under a row of `storage_used`, after the wallets' locks and in order. A customer
counts under its partner's row, whose wallet is not locked.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.accounts import MEASURES, NO_BOUND, StoredKind, octets_of, quota_of_column
from heliograph.base.clock import DAY_MS
from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row
from heliograph.messages.accept.answer import Send
from heliograph.messages.accept.request import SendRequest

_ROW_OCTETS: Final = MEASURES[StoredKind.SENDS].row_octets

_COUNTED: Final = f"""ON CONFLICT (account_id, sandbox, kind) DO UPDATE SET
        octets = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.octets
            ELSE 0 END + excluded.octets,
        day_ms = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.day_ms
            ELSE excluded.day_ms END
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


_INSERT: Final = "INSERT INTO storage_used (account_id, sandbox, kind, day_ms, octets)"
_COUNT: Final = BatchStatement(
    _StoredOctets,
    _Used,
    postgresql=f"""
        {_INSERT} SELECT g.account_id, g.sandbox, '{StoredKind.SENDS.value}', g.day_ms, g.octets
            FROM :given AS g
        ORDER BY g.account_id, g.sandbox {_COUNTED}""",
    sqlite=(
        f"{_INSERT} VALUES (:account_id, :sandbox, '{StoredKind.SENDS.value}', :day_ms, :octets)"
        f" {_COUNTED}"
    ),
)


class StoragePlace(NamedTuple):
    """Identifies whose quota is used: an account (raw id) that is nobody's customer, in one
    mode.
    """

    account_id: str
    sandbox: bool


class Room(NamedTuple):
    """Says how many octets may be stored today (None means no limit), and how many were stored
    before this batch.
    """

    quota: int | None
    used: int


def unpaid_octets(request: SendRequest, send: Send) -> int:
    """Returns what a send that is accepted stores and does not pay. It is hot: it is called once
    for each send.
    """
    if not request.sandbox:
        return 0 if send.exceptions is None else octets_of(send.exceptions)
    return (1 + send.message_count) * _ROW_OCTETS + octets_of(
        request.text, request.reference, send.exceptions
    )


async def count_unpaid(
    tx: HotTx, octets: Mapping[StoragePlace, int], now_ms: int
) -> dict[StoragePlace, Room]:
    """Adds octets, which may be below zero, to what each place has had stored today. Returns the
    rooms that there were before.
    """
    day_ms = now_ms - now_ms % DAY_MS
    rooms = {}
    for used in await _COUNT.rows(
        tx, [_StoredOctets(*place, day_ms, count) for place, count in sorted(octets.items())]
    ):
        place = StoragePlace(used.account_id, used.sandbox)
        rooms[place] = Room(
            quota_of_column(used.quota, StoredKind.SENDS), used.octets - octets[place]
        )
    return rooms


def is_too_much(octets: Mapping[StoragePlace, int], rooms: Mapping[StoragePlace, Room]) -> bool:
    """Returns whether one of the places has less room than its octets take."""
    return any(
        room.quota is not None and room.used + octets[place] > room.quota
        for place, room in rooms.items()
    )
