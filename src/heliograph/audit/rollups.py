"""Proves the roll-ups: what is stored of a quarter of an hour must be the sums of its messages.

Two kinds of quarters are not asked: those that are marked, which are counted in a few seconds, and
those whose messages retention may have deleted, of which the roll-ups stay.
"""

from collections.abc import Iterator
from itertools import islice

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import rfc3339
from heliograph.messages.reports.count_rollups import (
    COUNTS,
    Counts,
    RollupKey,
    count_messages,
    quarters_with_messages,
    whole_from_ms,
)
from heliograph.messages.tables import rollup_marks, rollups
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy


def verify_rollups(tx: Connection, *, marked_too: bool = False) -> list[Discrepancy]:
    """Returns what is wrong with roll-ups: nothing, if all agree, and at most DISCREPANCIES_MAX.
    `marked_too` says whether whoever asks has just counted the marked quarters.
    """
    return list(islice(_wrong(tx, marked_too=marked_too), DISCREPANCIES_MAX))


def _wrong(tx: Connection, *, marked_too: bool) -> Iterator[Discrepancy]:
    from_ms = whole_from_ms(tx)
    marked = set(() if marked_too else tx.execute(sa.select(rollup_marks.c.quarter_ms)).scalars())
    stored = set(
        tx.execute(
            sa.select(rollups.c.quarter_ms).distinct().where(rollups.c.quarter_ms >= from_ms)
        ).scalars()
    )
    with_messages = set(quarters_with_messages(tx, from_ms))
    nothing = dict.fromkeys(COUNTS, 0)
    for quarter_ms in sorted((stored | with_messages) - marked):
        right, stored_counts = count_messages(tx, quarter_ms), _stored_counts(tx, quarter_ms)
        for key in sorted(right.keys() | stored_counts.keys()):
            what = _difference(key, right.get(key, nothing), stored_counts.get(key, nothing))
            if what is not None:
                yield Discrepancy(key.account_id, what)


def _difference(key: RollupKey, right: Counts, stored: Counts) -> str | None:
    if right == stored:
        return None
    mode = "sandbox" if key.sandbox else "live"
    figures = [
        f"{name} {stored[name]} (its messages add up to {right[name]})"
        for name in COUNTS
        if stored[name] != right[name]
    ]
    return (
        f"the roll-up of {rfc3339(key.quarter_ms)}, {mode}, {key.country_code or 'no country'},"
        f" {key.sender}, {key.type}, group {key.group_id} says {', '.join(figures)}"
    )


def _stored_counts(tx: Connection, quarter_ms: int) -> dict[RollupKey, Counts]:
    query = sa.select(rollups).where(rollups.c.quarter_ms == quarter_ms)
    return {
        RollupKey(**{name: row._mapping[name] for name in RollupKey._fields}): {
            name: row._mapping[name] for name in COUNTS
        }
        for row in tx.execute(query)
    }
