"""Texts come from handsets over the wire into the database: each is stored once and whole, for its
number's account, and answered after that.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import NamedTuple

import pytest
import sqlalchemy as sa
import structlog

from heliograph.base import clock
from heliograph.carriers import HandsetText
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.database.database import Database
from heliograph.inbound import OwnNumber
from heliograph.inbound.receive import receiver as takers
from heliograph.inbound.receive.overdue import forget_parts, store_all_overdue
from heliograph.inbound.receive.parts import WAITED_MS
from heliograph.inbound.receive.receiver import InboundReceiver
from heliograph.inbound.receive.record import REPEATED_WITHIN_MS, record
from heliograph.inbound.tables import inbound, inbound_parts
from tests.support.factories import open_carrier
from tests.support.wire.handset_texts import LONG, PHONE, long_text, text_of
from tests.support.wire.raw_carrier import RawCarrier, RawSession, raw_carrier
from tests.support.wire.receiving_texts import taking

OTHER_PHONE = "233201234568"


class Phone(NamedTuple):
    """Is a carrier that brings texts to a running link and taker."""

    db: Database
    carrier: RawCarrier
    number: OwnNumber
    account_id: str
    taker: InboundReceiver
    sequences: "count[int]"

    @property
    def session(self) -> RawSession:
        return self.carrier.sessions[0]

    def writes(self, *messages: pdu.ShortMessage) -> list[int]:
        """Lets the carrier bring these at once. Returns their sequence numbers."""
        numbers = [next(self.sequences) for _ in messages]
        self.session.say(
            b"".join(
                pdu.encode_pdu(pdu.DELIVER_SM, 0, number, pdu.encode_sm(message))
                for number, message in zip(numbers, messages, strict=True)
            )
        )
        return numbers

    async def until_answered(self, answers: int) -> list[tuple[int, int]]:
        return await self.carrier.until_heard(self.session, pdu.DELIVER_SM_RESP, answers)

    def stored(self) -> list[tuple[str, str, bool, int]]:
        """Returns the sender and the text of each, whether it is whole, and how often it came
        again.
        """
        with self.db.read() as tx:
            columns = inbound.c
            return [
                (row.sender, row.text, row.parts == row.parts_received, row.repeats)
                for row in tx.execute(sa.select(inbound).order_by(columns.id))
            ]

    def parts_kept(self) -> int:
        with self.db.read() as tx:
            return tx.execute(sa.select(sa.func.count()).select_from(inbound_parts)).scalar_one()


@asynccontextmanager
async def phone(database_url: str) -> AsyncIterator[Phone]:
    async with raw_carrier() as carrier, taking(database_url, carrier.settings()) as it:
        async with asyncio.timeout(10):
            while not (carrier.sessions and carrier.sessions[0].heard):
                carrier.news.clear()
                await carrier.news.wait()
        yield Phone(it.db, carrier, it.number, it.account_id, it.receiver, count(1))


def repeated_parts(first: Sequence[pdu.ShortMessage]) -> list[pdu.ShortMessage]:
    return [*reversed(first), *first]


async def test_texts_are_stored_once_and_whole_before_they_are_answered(database_url: str) -> None:
    async with phone(database_url) as it:
        one, other = long_text(LONG), long_text(LONG[::-1], OTHER_PHONE)
        interleaved = [
            part
            for pair in zip(repeated_parts(one), repeated_parts(other), strict=True)
            for part in pair
        ]
        told = it.writes(text_of(b"STOP"), *interleaved, text_of(b"STOP"))
        answers = await it.until_answered(len(told))
        assert sorted(answers) == [(number, pdu.ESME_ROK) for number in told]
        assert sorted(it.stored()) == sorted(
            [
                (PHONE, "STOP", True, 1),
                (PHONE, LONG, True, len(one)),
                (OTHER_PHONE, LONG[::-1], True, len(other)),
            ]
        )
        # its parts are known for a while
        it.writes(*one)
        await it.until_answered(len(told) + len(one))
        assert (PHONE, LONG, True, 2 * len(one)) in it.stored()
        with it.db.read() as tx:
            assert set(tx.execute(sa.select(inbound.c.account_id)).scalars()) == {it.account_id}
            kept = tx.execute(sa.select(inbound_parts.c.octets)).scalars()
            assert {bytes(octets) for octets in kept} == {b""}


async def test_the_same_words_a_minute_later_are_another_text(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = [clock.now_ms()]
    monkeypatch.setattr(clock, "now_ms", lambda: now_ms[0])
    async with phone(database_url) as it:
        for answers, later_ms in enumerate((0, REPEATED_WITHIN_MS - 1, 2), 1):
            now_ms[0] += later_ms
            it.writes(text_of(b"BALANCE"))
            await it.until_answered(answers)
        assert it.stored() == [(PHONE, "BALANCE", True, 1), (PHONE, "BALANCE", True, 0)]


async def test_a_part_that_never_comes_leaves_what_came(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with phone(database_url) as it:
        first, *rest = long_text("a😀" * 100)
        it.writes(*rest, rest[0])
        await it.until_answered(len(rest) + 1)
        now_ms = clock.now_ms()
        await store_all_overdue(it.db, {}, now_ms + WAITED_MS - 60_000)
        assert it.stored() == []
        await store_all_overdue(it.db, {}, now_ms + WAITED_MS + 60_000)
        await store_all_overdue(it.db, {}, now_ms + WAITED_MS + 60_000)
        ((sender, text, is_whole, repeats),) = it.stored()
        assert (sender, is_whole, repeats) == (PHONE, False, 1)
        assert ("a😀" * 100).endswith(text.lstrip("\ufffd"))
        assert len(text) > 100
        await forget_parts(it.db, now_ms + WAITED_MS + 60_000)
        assert it.parts_kept() == len(rest)
        # one that still waits is never forgotten, however long the service was off
        it.writes(first)
        await it.until_answered(len(rest) + 2)
        await forget_parts(it.db, now_ms + 10 * WAITED_MS)
        assert it.parts_kept() == 1


async def test_a_text_to_a_number_of_nobodys_is_kept_and_told_without_itself(
    database_url: str,
) -> None:
    async with phone(database_url) as it:
        with structlog.testing.capture_logs() as entries:
            it.writes(pdu.ShortMessage(PHONE, "9999", b"hello"))
            await it.until_answered(1)
        assert it.stored() == [(PHONE, "hello", True, 0)]
        with it.db.read() as tx:
            assert tx.execute(sa.select(inbound.c.account_id)).scalar_one() is None
        (told,) = [entry for entry in entries if entry["event"] == "inbound_unowned"]
        assert told == {
            "event": "inbound_unowned",
            "log_level": "info",
            "carrier": "raw",
            "texts": 1,
        }


async def test_what_cannot_be_stored_is_not_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is away, then there again: first the carrier waits, then it is told to send the
    text again, and then its text is stored.
    """
    monkeypatch.setattr(takers, "ANSWER_WITHIN_S", 1.0)
    monkeypatch.setattr(takers, "TRIED_AGAIN_S", 0.05)
    async with phone(database_url) as it:
        with it.db.write() as tx:
            tx.exec_driver_sql("ALTER TABLE inbound RENAME TO inbound_away")
        (first,) = it.writes(text_of(b"STOP"))
        assert await it.until_answered(1) == [(first, pdu.ESME_RX_T_APPN)]
        (again,) = it.writes(text_of(b"STOP"))
        with it.db.write() as tx:
            tx.exec_driver_sql("ALTER TABLE inbound_away RENAME TO inbound")
        assert (await it.until_answered(2))[1:] == [(again, pdu.ESME_ROK)]
        assert it.stored() == [(PHONE, "STOP", True, 0)]


async def test_two_parts_that_two_processes_hear_at_once_become_one_text(
    postgresql_url: str,
) -> None:
    """Either sees what the other has stored, for it waits until that is committed."""
    db, other = Database(postgresql_url), Database(postgresql_url)
    carrier_id = open_carrier(db)
    first, second = [read_handset_text(each, None) for each in long_text(LONG[:200])]

    async def hears(where: Database, part: HandsetText) -> None:
        async with where.hot() as tx:
            await record(tx, carrier_id, [part], clock.now_ms())

    async with db.hot() as tx:
        await record(tx, carrier_id, [first], clock.now_ms())
        hearing = asyncio.create_task(hears(other, second))
        done, _ = await asyncio.wait([hearing], timeout=0.3)
        assert not done
    await hearing
    with db.read() as reading:
        assert reading.execute(sa.select(inbound.c.text)).scalar_one() == LONG[:200]
    for each in (db, other):
        await each.close_hot()
        each.close()
