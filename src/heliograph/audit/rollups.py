"""Proves the roll-ups: what is stored of a quarter of an hour must be the sums of its messages.

Messages may be deleted, and their roll-ups stay (retention.py): a quarter of an hour that may have
lost some is not asked.
"""

from itertools import islice
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import rfc3339
from heliograph.messages.retention import MESSAGES, first_kept
from heliograph.messages.rollups import COUNTS, RollupKey
from heliograph.messages.states import DELIVERED, QUEUED
from heliograph.messages.tables import (
    DELIVERY_STEPS,
    DELIVERY_STEPS_S,
    ERROR_CODES,
    QUARTER_MS,
    STATUSES,
    messages,
    rollups,
    sends,
)
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy, raw_id

_MS_SHIFT: Final = 80  # an id begins with the milliseconds of its time
_Counts: TypeAlias = dict[str, int]


def verify_rollups(tx: Connection) -> list[Discrepancy]:
    """Returns what is wrong with roll-ups: nothing, if all agree, and at most
    DISCREPANCIES_MAX.
    """
    first = first_kept(tx, MESSAGES)
    # the quarter in which the first id was made may have lost messages; a send's id is made within
    # a minute of the time that is stored with it
    begun_ms = int(first, 16) >> _MS_SHIFT
    from_ms = 0 if begun_ms == 0 else (begun_ms // QUARTER_MS + 2) * QUARTER_MS
    counted, kept = _counted(tx, first, from_ms), _kept(tx, from_ms)
    nothing = dict.fromkeys(COUNTS, 0)
    wrong = (
        Discrepancy(key.account_id, what)
        for key in sorted(counted.keys() | kept.keys())
        if (what := _difference(key, counted.get(key, nothing), kept.get(key, nothing)))
    )
    return list(islice(wrong, DISCREPANCIES_MAX))


def _difference(key: RollupKey, counted: _Counts, kept: _Counts) -> str | None:
    if counted == kept:
        return None
    mode = "sandbox" if key.sandbox else "live"
    figures = [
        f"{name} {kept[name]} (its messages add up to {counted[name]})"
        for name in COUNTS
        if kept[name] != counted[name]
    ]
    return (
        f"the roll-up of {rfc3339(key.quarter_ms)}, {mode}, {key.country_code or 'no country'},"
        f" {key.sender}, {key.type}, group {key.group_id} says {', '.join(figures)}"
    )


def _kept(tx: Connection, from_ms: int) -> dict[RollupKey, _Counts]:
    columns = rollups.c
    keys = [raw_id(columns.account_id), *(columns[name] for name in RollupKey._fields[1:])]
    sums = [sa.func.sum(columns[name]).label(name) for name in COUNTS]
    query = sa.select(*keys, *sums).where(columns.quarter_ms >= from_ms).group_by(*keys)
    return _read(tx, query)


def _counted(tx: Connection, first: str, from_ms: int) -> dict[RollupKey, _Counts]:
    """Counts all messages from the id `first` on in one look."""
    message, send = messages.c, sends.c
    accepted_ms = send.created_at_ms
    keys = [
        raw_id(message.account_id),
        message.sandbox,
        accepted_ms - accepted_ms % QUARTER_MS,
        sa.func.coalesce(message.country_code, ""),
        send.sender,
        send.type,
        sa.func.coalesce(message.group_id, 0),
    ]
    is_counted: dict[str, sa.ColumnElement[bool]] = {
        name: message.status == name for name in STATUSES if name != QUEUED
    } | {name: message.error_code == name for name in ERROR_CODES}
    delay_ms, after_ms = message.delivered_at_ms - accepted_ms, None
    for name, until_s in zip(DELIVERY_STEPS, (*DELIVERY_STEPS_S, None), strict=True):
        is_counted[name] = sa.and_(
            message.status == DELIVERED,
            sa.true() if until_s is None else delay_ms <= until_s * 1_000,
            sa.true() if after_ms is None else delay_ms > after_ms,
        )
        after_ms = None if until_s is None else until_s * 1_000
    sums = {
        "segments": sa.func.sum(message.segments),
        "credits": sa.func.sum(message.credits - message.refunded),
    } | {name: sa.func.sum(sa.case((is_one, 1), else_=0)) for name, is_one in is_counted.items()}
    query = (
        sa.select(*keys, *(sums[name].label(name) for name in COUNTS))
        .join_from(messages, sends, send.id == message.send_id)
        .where(message.id >= first, accepted_ms >= from_ms, message.status != QUEUED)
        .group_by(*keys)
    )
    return _read(tx, query)


def _read(tx: Connection, query: sa.Select[Any]) -> dict[RollupKey, _Counts]:
    """Returns what a query has found, without what adds up to nothing."""
    found = {}
    places = len(RollupKey._fields)
    for row in tx.execute(query):
        account_id, sandbox, *rest = row[:places]
        counts = {name: int(row._mapping[name]) for name in COUNTS}
        if any(counts.values()):
            found[RollupKey(account_id, bool(sandbox), *rest)] = counts
    return found
