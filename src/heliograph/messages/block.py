"""What is queued of an account's groups for people who want it no more: taken out of its run, failed, refunded."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from heliograph.base import ids
from heliograph.base.hot import HotTx, Statement
from heliograph.base.json import encode
from heliograph.base.paging import first_id_of
from heliograph.messages.fair import FAIR_SPACING_US
from heliograph.messages.request import VALIDITY_S
from heliograph.messages.sweep import RUN_COLUMNS, fail_taken

_SPAN_MS: Final = VALIDITY_S[1] * 1_000  # of what is queued: what is older has failed, or is about to, for its validity is over

# The bound tells PostgreSQL which partitions to look into.
_QUEUED: Final = """
    SELECT m.account_id, m.sandbox, m.recipient, m.id, m.send_id, EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = m.id)
    FROM unnest($1::uuid[], $2::bool[], $3::bigint[]) AS p (account_id, sandbox, phone)
    JOIN messages m ON m.account_id = p.account_id AND m.recipient = p.phone AND m.sandbox = p.sandbox
    WHERE m.status = 'queued' AND m.group_id IS NOT NULL AND m.id >= '{since}'"""
_QUEUED_SQLITE: Final = """
    SELECT m.account_id, m.sandbox, m.recipient, m.id, m.send_id, EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = m.id)
    FROM messages m WHERE m.account_id = ? AND m.sandbox = ? AND m.recipient = ?
        AND m.status = 'queued' AND m.group_id IS NOT NULL AND m.id >= '{since}'"""
_RUNS: Final = f"SELECT {RUN_COLUMNS} FROM queue WHERE send_id = ANY($1::uuid[]) FOR UPDATE SKIP LOCKED"  # noqa: S608  names of ours
_RUNS_SQLITE: Final = f"SELECT {RUN_COLUMNS} FROM queue WHERE send_id IN (SELECT value FROM json_each($1))"  # noqa: S608  names of ours


class Person(NamedTuple):
    """A phone, as E.164 digits in a number, to which an account (raw id) sends in a mode."""

    account_id: str
    sandbox: bool
    phone: int


async def fail_blocked(tx: HotTx, people: Sequence[Person], now_ms: int) -> set[Person]:
    """Messages of groups to these people that no carrier has: failed, `blocked`, refunded. To be called again for whom it answers: a carrier has
    something for them, or is just taking it, and it may come back. `people`: few enough for one transaction."""
    since = first_id_of(now_ms - _SPAN_MS)
    queued = await Statement(_QUEUED.format(since=since), _QUEUED_SQLITE.format(since=since)).rows(tx, list(people))
    waiting = {int(message_id, 16): send_id for *_, message_id, send_id, is_in_flight in queued if not is_in_flight}
    taken = await _take_out(tx, waiting, now_ms)
    return {Person(account_id, bool(sandbox), phone) for account_id, sandbox, phone, message_id, *_ in queued if int(message_id, 16) not in taken}


async def _take_out(tx: HotTx, waiting: dict[int, str], now_ms: int) -> set[int]:
    """Messages, by number and with their sends; those that were in a run which nobody else is just taking."""
    if not waiting:
        return set()
    sends = sorted(set(waiting.values()))
    runs = await tx.fetch(_RUNS, sends) if tx.postgresql else await tx.fetch(_RUNS_SQLITE, encode(sends).decode())
    taken, rests, numbers = without(runs, waiting)
    await fail_taken(tx, taken, rests, numbers, now_ms, "blocked")
    return numbers


def without(runs: Sequence[Sequence[Any]], out: Collection[int]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], set[int]]:
    """Runs (RUN_COLUMNS) without these messages: the keys of those that are taken, what is left of them, and which messages were in one."""
    ordered = sorted(out)
    keys, rests, found = list[tuple[Any, ...]](), list[tuple[Any, ...]](), set[int]()
    for carrier_id, rank_us, first_id, count, send_id, segments, *others in runs:
        first = int(first_id, 16)
        end = first + count
        inside = ordered[bisect_left(ordered, first) : bisect_left(ordered, end)]
        if not inside:
            continue
        keys.append((carrier_id, rank_us, first_id))
        found.update(inside)
        for begins, ends in zip([first, *(number + 1 for number in inside)], [*inside, end], strict=True):
            if begins < ends:
                rests.append((carrier_id, rank_us + (begins - first) * segments * FAIR_SPACING_US, ids.raw_of_number(begins), ends - begins,
                              send_id, segments, *others))
    return keys, rests, found
