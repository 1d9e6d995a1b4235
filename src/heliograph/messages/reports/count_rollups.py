"""Counts the messages of marked quarters of an hour, and stores that as their roll-ups."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.base.log import survive_faults
from heliograph.base.paging import first_id_of
from heliograph.database.database import Database
from heliograph.database.reads import records_of
from heliograph.messages.retention import MESSAGES, UNDER_WAY_MS, first_kept
from heliograph.messages.states import DELIVERED, QUEUED
from heliograph.messages.tables import (
    DELIVERY_STEPS,
    DELIVERY_STEPS_S,
    ERROR_CODES,
    QUARTER_MS,
    STATUSES,
    messages,
    rollup_marks,
    rollups,
    sends,
)

# After the end of a mark, a transaction that relied on it is over: its statements have 10 s each,
# and the clocks of processes may differ a little.
FINAL_AFTER_MS: Final = 60_000
QUARTERS_AT_ONCE: Final = 200  # of one look at the marks: after a migration, there are thousands
FAILED_TOOK_MS: Final = 10_000  # a statement that takes longer is ended
# before a quarter is counted again: at least this, and so many times what it took, so that counting
# keeps the database busy for a hundredth of the time
EVERY_MS: Final = 5_000
RESTS: Final = 100
# A quarter that this process has not counted yet is first looked at: one of few messages is counted
# at once, and a large one after the rest that its counting will need.
FEW: Final = 500
MANY: Final = 20_000  # which the look counts at most
MESSAGE_TAKES_MS: Final = 0.01  # measured on both databases: 0.004 to 0.012
# what a process of the version before has changed bears no mark, so the last days are counted again
# now and then: messages change no more after them
REPEATED_EVERY_MS: Final = 6 * 3_600_000
REPEATED_MS: Final = 4 * 86_400_000
_MS_SHIFT: Final = 80  # an id begins with the milliseconds of its time

Counts: TypeAlias = dict[str, int]


class RollupKey(NamedTuple):
    """Says which messages are counted together. `account_id` is raw, `country_code` is empty if it
    is not known, and `group_id` is 0 for messages of no campaign.
    """

    account_id: str
    sandbox: bool
    quarter_ms: int
    country_code: str
    sender: str
    type: str
    group_id: int


class MarkedQuarter(NamedTuple):
    """Names a quarter of an hour whose messages may have changed until `until_ms`."""

    quarter_ms: int
    until_ms: int


COUNTS: Final = ("segments", "credits", *STATUSES[1:], *ERROR_CODES, *DELIVERY_STEPS)


class RollupCounter:
    """Counts marked quarters again and again. It is used in one thread."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._due_ms: dict[int, int] = {}  # by quarter: before then it is not counted again
        self._repeated_ms = 0

    def count_due(self, now_ms: int, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Counts the newest quarters that are marked and due, as long as `may_go_on` says so. One
        that cannot be counted keeps no other from it.
        """
        if self._repeated_ms + REPEATED_EVERY_MS <= now_ms:
            with self._db.write() as tx:
                mark_again(tx, now_ms - REPEATED_MS, now_ms)
            self._repeated_ms = now_ms
        with self._db.read() as tx:
            found = find_marked(tx)
        for quarter in found:
            if self._when_due_ms(quarter.quarter_ms, now_ms) > now_ms:
                continue
            if not may_go_on():
                return
            took_ms = FAILED_TOOK_MS
            with survive_faults("rollup_not_counted", quarter=rfc3339(quarter.quarter_ms)):
                took_ms = count_quarter(self._db, quarter, now_ms)
            self._due_ms[quarter.quarter_ms] = now_ms + max(EVERY_MS, RESTS * took_ms)
        self._forget({quarter.quarter_ms for quarter in found})

    def _when_due_ms(self, quarter_ms: int, now_ms: int) -> int:
        """Returns the time before which a quarter is not counted."""
        if quarter_ms not in self._due_ms:
            with self._db.read() as tx:
                present = messages_in(tx, quarter_ms, MANY)
            rest_ms = 0 if present <= FEW else round(RESTS * MESSAGE_TAKES_MS * present)
            self._due_ms[quarter_ms] = now_ms + rest_ms
        return self._due_ms[quarter_ms]

    def _forget(self, still_marked: set[int]) -> None:
        for quarter_ms in self._due_ms.keys() - still_marked:
            del self._due_ms[quarter_ms]


def find_marked(tx: Connection) -> list[MarkedQuarter]:
    """Returns the newest quarters that are marked."""
    query = (
        sa.select(rollup_marks.c.quarter_ms, sa.func.max(rollup_marks.c.until_ms).label("until_ms"))
        .group_by(rollup_marks.c.quarter_ms)
        .order_by(rollup_marks.c.quarter_ms.desc())
        .limit(QUARTERS_AT_ONCE)
    )
    return records_of(MarkedQuarter, tx.execute(query))


def messages_in(tx: Connection, quarter_ms: int, at_most: int) -> int:
    """Returns how many messages were accepted in a quarter of an hour, up to `at_most`."""
    some = sa.select(messages.c.id).where(_in_quarter(quarter_ms)).limit(at_most).subquery()
    return tx.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()


def count_quarter(db: Database, quarter: MarkedQuarter, now_ms: int) -> int:
    """Counts the messages of a quarter, and stores its roll-ups. Returns how many milliseconds that
    took. `now_ms` is from before the mark was read. The mark goes when all that relied on it is
    counted. Of a quarter whose messages have been deleted, in whole or in part, the roll-ups stay.
    """
    began_s = clock.monotonic_s()
    with db.read() as tx:
        is_whole = quarter.quarter_ms >= whole_from_ms(tx)
        found = count_messages(tx, quarter.quarter_ms) if is_whole else {}
    with db.write() as tx:
        # whoever counts it too waits for the marks, and stores nothing where they have gone
        marks = sa.select(rollup_marks.c.slot).where(
            rollup_marks.c.quarter_ms == quarter.quarter_ms
        )
        if not tx.execute(marks.with_for_update()).all():
            return 0
        # retention may have deleted some of it meanwhile
        is_whole = is_whole and quarter.quarter_ms >= whole_from_ms(tx)
        if is_whole:
            _store(tx, quarter.quarter_ms, found)
        if quarter.until_ms + FINAL_AFTER_MS < now_ms or not is_whole:
            tx.execute(
                sa.delete(rollup_marks).where(
                    rollup_marks.c.quarter_ms == quarter.quarter_ms,
                    rollup_marks.c.until_ms <= quarter.until_ms,
                )
            )
    return round((clock.monotonic_s() - began_s) * 1_000)


def whole_from_ms(tx: Connection) -> int:
    """Returns the first quarter of an hour of which no message can have been deleted."""
    first_ms = int(first_kept(tx, MESSAGES), 16) >> _MS_SHIFT
    if first_ms > 0:
        first_ms += UNDER_WAY_MS  # the id of a message may be so much later than that of its send
    return -(-first_ms // QUARTER_MS) * QUARTER_MS


def quarters_with_messages(tx: Connection, from_ms: int) -> Iterator[int]:
    """Yields the quarters of an hour that have messages, from this moment on."""
    at_ms = from_ms
    while True:
        query = sa.select(messages.c.id).where(messages.c.id >= first_id_of(at_ms))
        found = tx.execute(query.order_by(messages.c.id).limit(1)).scalar()
        if found is None:
            return
        found_ms = int(found, 16) >> _MS_SHIFT
        quarter_ms = found_ms - found_ms % QUARTER_MS
        yield quarter_ms
        at_ms = quarter_ms + QUARTER_MS


def mark_again(tx: Connection, from_ms: int, now_ms: int) -> None:
    """Marks all quarters that have messages, from this moment on."""
    for quarter_ms in list(quarters_with_messages(tx, from_ms)):
        tx.execute(
            sa.delete(rollup_marks).where(
                rollup_marks.c.quarter_ms == quarter_ms, rollup_marks.c.slot == _SLOT_OF_REPEATS
            )
        )
        tx.execute(
            sa.insert(rollup_marks).values(
                quarter_ms=quarter_ms,
                slot=_SLOT_OF_REPEATS,
                until_ms=now_ms - FINAL_AFTER_MS - 1,
            )
        )


def count_messages(tx: Connection, quarter_ms: int) -> dict[RollupKey, Counts]:
    """Counts the messages that were accepted in a quarter of an hour and have left the state
    `queued`.
    """
    begins = {"from_id": first_id_of(quarter_ms), "until_id": first_id_of(quarter_ms + QUARTER_MS)}
    names = [name for name in RollupKey._fields if name != "quarter_ms"]
    return {
        RollupKey(quarter_ms=quarter_ms, **{name: row._mapping[name] for name in names}): {
            name: int(row._mapping[name]) for name in COUNTS
        }
        for row in tx.execute(_count_query(), begins)
    }


@cache
def _count_query() -> sa.Select[Any]:
    """Returns the query of `count_messages`. It is long: to make it takes longer than to run it."""
    message, send = messages.c, sends.c
    keys = {
        "account_id": message.account_id,
        "sandbox": message.sandbox,
        "country_code": sa.func.coalesce(message.country_code, ""),
        "sender": send.sender,
        "type": send.type,
        "group_id": sa.func.coalesce(message.group_id, 0),
    }
    is_counted: dict[str, sa.ColumnElement[bool]] = {
        name: message.status == name for name in STATUSES if name != QUEUED
    } | {name: message.error_code == name for name in ERROR_CODES}
    delay_ms, after_ms = message.delivered_at_ms - send.created_at_ms, None
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
    return (
        sa.select(
            *(column.label(name) for name, column in keys.items()),
            *(sums[name].label(name) for name in COUNTS),
        )
        .join_from(messages, sends, send.id == message.send_id)
        .where(
            message.id >= sa.bindparam("from_id"),
            message.id < sa.bindparam("until_id"),
            message.status != QUEUED,
        )
        .group_by(*keys.values())
    )


def _in_quarter(quarter_ms: int) -> sa.ColumnElement[bool]:
    id_ = messages.c.id
    return sa.and_(id_ >= first_id_of(quarter_ms), id_ < first_id_of(quarter_ms + QUARTER_MS))


def _store(tx: Connection, quarter_ms: int, found: dict[RollupKey, Counts]) -> None:
    tx.execute(sa.delete(rollups).where(rollups.c.quarter_ms == quarter_ms))
    if found:
        tx.execute(
            sa.insert(rollups), [{**key._asdict(), **counts} for key, counts in found.items()]
        )


_SLOT_OF_REPEATS: Final = -1  # of no process
