"""What sends have stored that nobody pays for, counted against the account's storage quota (`Stored.SENDS`): sandbox sends with their messages, and
what is kept of recipients that were rejected or repeated. A live message that goes out costs credits, and is not counted.

Counted under a row of `storage_used`, after the wallets' locks and in order; of a customer under its partner's, whose wallet is not locked.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.accounts import MEASURES, NO_BOUND, Stored, octets_of, quota_told
from heliograph.base.clock import DAY_MS
from heliograph.base.hot import HotTx, Statement
from heliograph.messages.answer import Send
from heliograph.messages.request import SendRequest

_ROW_OCTETS: Final = MEASURES[Stored.SENDS].row_octets

_COUNTED: Final = f"""ON CONFLICT (account_id, sandbox, kind) DO UPDATE SET
        octets = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.octets ELSE 0 END + excluded.octets,
        day_ms = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.day_ms ELSE excluded.day_ms END
    RETURNING account_id, sandbox, octets, (
        SELECT coalesce(q.octets, {NO_BOUND}) FROM storage_quotas q WHERE q.account_id = storage_used.account_id AND q.kind = storage_used.kind)"""  # noqa: S608  a number of ours
_COUNT: Final = Statement(
    f"""INSERT INTO storage_used (account_id, sandbox, kind, day_ms, octets)
        SELECT u.account_id, u.sandbox, '{Stored.SENDS.value}', u.day_ms, u.octets
        FROM unnest($1::uuid[], $2::bool[], $3::bigint[], $4::bigint[]) AS u (account_id, sandbox, day_ms, octets)
        ORDER BY u.account_id, u.sandbox {_COUNTED}""",  # noqa: S608  a name of ours
    f"INSERT INTO storage_used (account_id, sandbox, kind, day_ms, octets) VALUES (?1, ?2, '{Stored.SENDS.value}', ?3, ?4) {_COUNTED}")  # noqa: S608


class Place(NamedTuple):
    """Where it is counted: an account (raw id) that is nobody's customer, and a mode."""

    account_id: str
    sandbox: bool


class Room(NamedTuple):
    """What a place may have stored today, None for no bound, and what it had before this batch."""

    quota: int | None
    used: int


def unpaid_octets(request: SendRequest, send: Send) -> int:
    """What a send that is accepted stores and does not pay. Hot: once for each send."""
    if not request.sandbox:
        return 0 if send.exceptions is None else octets_of(send.exceptions)
    return (1 + send.message_count) * _ROW_OCTETS + octets_of(request.text, request.reference, send.exceptions)


async def count_unpaid(tx: HotTx, octets: Mapping[Place, int], now_ms: int) -> dict[Place, Room]:
    """Adds octets, which may be below zero, to what each place has had stored today; the rooms that there were before."""
    day_ms = now_ms - now_ms % DAY_MS
    rows = await _COUNT.rows(tx, [(*place, day_ms, count) for place, count in sorted(octets.items())])
    rooms = {}
    for account_id, sandbox, used, quota in rows:
        place = Place(account_id, bool(sandbox))
        rooms[place] = Room(quota_told(quota, Stored.SENDS), used - octets[place])
    return rooms


def is_too_much(octets: Mapping[Place, int], rooms: Mapping[Place, Room]) -> bool:
    """Whether one of the places has not so much room."""
    return any(room.quota is not None and room.used + octets[place] > room.quota for place, room in rooms.items())
