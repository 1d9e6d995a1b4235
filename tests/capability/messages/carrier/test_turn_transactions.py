"""Turns and batches run in transactions, which are canceled at any moment, opened by several at
once, and take locks in one order.
"""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from heliograph.base import clock
from heliograph.carriers import SubmitOutcome, routing
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.carrier.match import learn_id_format, rematch
from heliograph.messages.doubt.decide import Decision, DecisionResult, decide, read_decided_by
from heliograph.messages.doubt.match_receipt import match_to
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import fail_expired, fail_over, settle_doubts
from tests.support.capability.sending import SUCCESSOR, House, LossyDatabase
from tests.support.factories import awaited, open_carrier, open_route, phones


@awaited
async def test_one_that_is_canceled_while_it_waits_for_its_turn_to_write_leaves_the_next_one_free(
    sqlite_url: str,
) -> None:
    db = Database(sqlite_url)
    async with db.hot() as tx:
        await tx.fetch("SELECT 1")
    writing, done = threading.Event(), threading.Event()

    def write() -> None:
        with db.write():
            writing.set()
            assert done.wait(10)

    async def wait_for_turn() -> None:
        async with db.hot() as tx:
            await tx.fetch("SELECT 1")
            raise AssertionError("it was canceled before")

    writer = asyncio.create_task(asyncio.to_thread(write))
    await asyncio.to_thread(writing.wait, 10)
    waiting = asyncio.create_task(wait_for_turn())
    while not db._lock._waiting:  # until it stands in line
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.sleep(0)
    done.set()
    await asyncio.gather(writer, waiting, return_exceptions=True)
    async with asyncio.timeout(5):
        async with db.hot() as tx:
            await tx.fetch("SELECT 1")
        await asyncio.to_thread(write)
    await db.close_hot()
    db.close()


@awaited
async def test_several_that_come_first_share_one_pool_of_connections(postgresql_url: str) -> None:
    db = Database(postgresql_url)

    async def use() -> None:
        async with db.hot() as tx:
            await tx.fetch("SELECT 1")

    await asyncio.gather(*(use() for _ in range(5)))
    await db.close_hot()
    with psycopg.connect(postgresql_url) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <>"
            " pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
    assert left == (1,)  # of whoever empties the database after a test
    db.close()


LOCK_ORDER = ["inflight", "carrier_refs", "messages", "wallets"]
_LOCKING = re.compile(
    r"UPDATE (\w+)|DELETE FROM (\w+)|INSERT INTO (\w+)[^;]*?ON CONFLICT[^;]*?DO UPDATE|FROM"
    r" (\w+)[^;]*?FOR UPDATE(?! SKIP)"
)


class WatchedDatabase(LossyDatabase):
    """Keeps, of each hot transaction, the tables whose rows it may have to wait for, in
    the order in which it first asked for them.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.waits: list[list[str]] = []

    @asynccontextmanager
    async def hot(self) -> AsyncIterator[HotTx]:
        async with super().hot() as tx:
            self.waits.append([])
            yield WatchedTx(tx, self.waits[-1])


class WatchedTx:
    postgresql = True

    def __init__(self, tx: HotTx, waits: list[str]) -> None:
        self._tx = tx
        self._waits = waits
        self.signals, self.learned, self.known = tx.signals, tx.learned, tx.known

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        self._note(sql)
        return await self._tx.fetch(sql, *args)

    async def each(self, sql: str, sets: Sequence[Sequence[Any]]) -> list[Any]:
        return await self._tx.each(sql, sets)

    def _note(self, sql: str) -> None:
        for names in _LOCKING.findall(sql):
            table = next(name for name in names if name)
            if table in LOCK_ORDER and table not in self._waits:
                self._waits.append(table)


async def decide_by_hand(house: House) -> None:
    """Makes an operator's decisions, and his match of a receipt."""
    await house.send(phones(3, first=900))
    link = house.turn(worker=SUCCESSOR)
    await link.turn.run_once()
    one, *others = [
        submission for submission in link.submitted if submission.recipient in phones(3, first=900)
    ]
    link.answer(*link.submitted, outcome=SubmitOutcome.UNANSWERED)
    link.receive("d1", one.recipient)
    await link.turn.run_once()
    facts = CarrierFacts(house.carrier_id, "carrier", id_format="as_is")
    await match_to(
        house.db, facts, "carrier/d1", one.message_id, "kofi", clock.now_ms(), as_one=False
    )
    for submission, decision in zip(others, (Decision.RESENT, Decision.CANCELED), strict=True):
        done: list[DecisionResult] = []
        await decide(
            house.db,
            {house.carrier_id: [(submission.message_id, 1)]},
            {house.carrier_id: facts},
            decision,
            read_decided_by("kofi", "lost"),
            done.extend,
        )
        assert done[0].refused is None
    house.assert_sound()


@pytest.fixture
def watched(postgresql_url: str) -> House:
    return House(postgresql_url, WatchedDatabase)


@awaited
async def test_every_hot_transaction_asks_for_locks_in_one_order(watched: House) -> None:
    """The order is: in flight, carrier refs, messages, wallets; within each by id. So no two of
    them can wait for each other.

    Some rows are not in this order, because nobody waits there: the queue (SKIP LOCKED, and what
    was got so), rows that are only inserted (sends, messages, ledger entries, and Idempotency-Keys,
    which the lock on their account's wallet guards), and the claim's rows in flight (of messages
    that were got from the queue). On SQLite each of them is alone.
    """
    house, db = watched, watched.db
    assert isinstance(db, WatchedDatabase)
    second = open_carrier(db, "second", prefix=None)
    open_route(db, "carrier", "second")

    await house.send(phones(5), key="k-1")
    await house.send(phones(600), "x" * 161, validity_s=60, dry_run=True)
    await house.send(phones(20, first=100), "x" * 161, validity_s=60)
    link = house.turn(window=30)
    await link.turn.run_once()
    accepted, refused, doubtful, throttled, *_ = list(link.open.values())
    link.answer(accepted, ref="6b0000")
    link.answer(refused, outcome=SubmitOutcome.REFUSED)
    link.answer(doubtful, outcome=SubmitOutcome.UNANSWERED)
    link.answer(throttled, outcome=SubmitOutcome.THROTTLED)
    link.receive(str(0x6B0000), accepted.recipient)
    link.receive("c1", doubtful.recipient)
    await link.turn.run_once()
    now_ms = clock.now_ms()
    with db.read() as tx:
        routes = routing.Routes(routing.load_routes(tx))
    assert await fail_over(db, routes, frozenset({house.carrier_id}), house.queue, now_ms)
    assert await learn_id_format(db, CarrierFacts(house.carrier_id, "carrier"), 0, 0) == "dec"
    assert (
        await rematch(db, CarrierFacts(house.carrier_id, "carrier", id_format="dec"), now_ms) == 1
    )
    assert (
        await match_doubts(
            db, CarrierFacts(house.carrier_id, "carrier", id_format="dec"), 0, now_ms
        )
        == 1
    )
    other = house.turn(carrier_id=second, window=4)
    await other.turn.run_once()
    await house.succeeded()
    clock.move(by_ms=RESEND_AFTER_MS)
    await fail_expired(db, clock.now_ms())
    assert await settle_doubts(db, second, clock.now_ms(), resend=True)
    assert house.credits() > 955
    await decide_by_hand(house)
    house.assert_sound()

    out_of_order = [
        waits for waits in db.waits if waits != [table for table in LOCK_ORDER if table in waits]
    ]
    assert not out_of_order
    assert LOCK_ORDER in db.waits  # the scenario has met them all
