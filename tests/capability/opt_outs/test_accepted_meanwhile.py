"""Whichever way somebody opts out by, what is being accepted for the phone at the same moment is
canceled before whoever opted it out is answered. On SQLite there is one writer, and no such moment.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psycopg
import pytest

from heliograph import contacts, senders
from heliograph.base import clock
from heliograph.campaigns.advance import Advancer
from heliograph.contacts import ContactOwner, ContactPatch
from heliograph.database.statements.opt_out_lookups import LOOKUPS_BEFORE_LOCK
from heliograph.inbound.receive.record import record
from heliograph.messages.accept import Chunker
from heliograph.messages.accept.read_sql import _LOCK_AND_LOOK, _LOCK_WALLETS
from heliograph.messages.sweeps import opt_out as sweep_of_opt_outs
from heliograph.messages.sweeps import withdraw
from heliograph.opt_outs import (
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    OptOutSource,
    lift,
    scope_of_sender,
    suppress,
)
from heliograph.opt_outs.tables import opt_outs
from heliograph.text import parse_phone
from tests.support.capability.campaigning import Sent
from tests.support.capability.commands import runner
from tests.support.capability.gated import GatedDatabase
from tests.support.capability.inbox import written
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SENDER, awaited, phones
from tests.support.wire.handset_texts import SHORT_CODE

OTHER: Final = "233201234568"
[THIRD] = phones(1)
WAITS_S: Final = 0.3


@pytest.fixture
def gated_house(postgresql_url: str) -> House:
    return House(postgresql_url, GatedDatabase)


@pytest.fixture
def postgres_house(postgresql_url: str) -> House:
    return House(postgresql_url)


def opt_out(house: House, sender: str | None = None) -> None:
    """Opts PHONE out, as POST /opt-outs, the portal and the command do."""
    owner = OptOutOwner(house.amina_id, False)
    scope = WHOLE_ACCOUNT if sender is None else scope_of_sender(sender)
    with house.db.write() as tx:
        now_ms = clock.now_ms()
        suppress(tx, owner, [PHONE], source=OptOutSource.API, now_ms=now_ms, scope=scope)
        withdraw(tx, owner, PHONE, scope, now_ms)


async def beside(house: House, opting_out: Callable[[], object]) -> None:
    """Opts out, in a thread of its own, while a send to PHONE and to OTHER is about to be
    committed.
    """
    db = house.db
    assert isinstance(db, GatedDatabase)
    gate = db.close_gate()
    accepting = asyncio.create_task(house.send([PHONE, OTHER]))
    await db.held.wait()
    db.gate = None
    going = asyncio.create_task(asyncio.to_thread(opting_out))
    await asyncio.wait([going], timeout=WAITS_S)
    assert not going.done(), "it waits for who may not have seen the opt-out"
    gate.set()
    await asyncio.gather(accepting, going)


@pytest.mark.parametrize("sender", [None, SENDER])
@pytest.mark.parametrize("has_others", [False, True])
@awaited
async def test_an_opt_out_in_an_ordinary_transaction_cancels_it(
    gated_house: House, sender: str | None, has_others: bool
) -> None:
    house = gated_house
    if has_others:  # then each recipient is asked about
        with house.db.write() as tx:
            owner, now_ms = OptOutOwner(house.amina_id, False), clock.now_ms()
            suppress(tx, owner, [THIRD], source=OptOutSource.API, now_ms=now_ms)
    before = house.credits()
    await beside(house, lambda: opt_out(house, sender))
    assert house.statuses() == ["failed/blocked", "queued"]
    assert house.credits() == before - 1
    house.assert_sound()


@awaited
async def test_so_does_the_command(gated_house: House, tmp_path: Path) -> None:
    house = gated_house
    run = runner(house.db.url, tmp_path)
    await beside(house, lambda: run("opt-out", "add", PHONE, "--account", "amina"))
    assert house.statuses() == ["failed/blocked", "queued"]
    house.assert_sound()


@awaited
async def test_so_does_a_contact_that_opts_out_at_the_next_look(gated_house: House) -> None:
    """The look that reads its note waits."""
    house = gated_house

    async def look() -> None:
        await Advancer(
            house.db, Chunker(house.cache, house.queue), house.woken.append
        )._apply_opt_outs()

    change = ContactPatch(parse_phone(PHONE), {"opted_out": True})
    db = house.db
    assert isinstance(db, GatedDatabase)
    gate = db.close_gate()
    accepting = asyncio.create_task(house.send([PHONE, OTHER]))
    await db.held.wait()
    db.gate = None
    with db.write() as tx:
        owner = ContactOwner(house.amina_id, False)
        contacts.upsert(tx, owner, [change], by=contacts.OPERATOR, now_ms=clock.now_ms())
    looking = asyncio.create_task(look())
    await asyncio.wait([looking], timeout=WAITS_S)
    assert not looking.done(), "it waits for who may not have seen the opt-out"
    gate.set()
    await asyncio.gather(accepting, looking)
    assert house.statuses() == ["failed/blocked", "queued"]
    house.assert_sound()


@pytest.mark.parametrize("way", ["STOP", "an ordinary transaction"])
@pytest.mark.parametrize("scope", [WHOLE_ACCOUNT, scope_of_sender(SHORT_CODE)])
@awaited
async def test_if_whoever_opts_out_dies_before_looking_again_the_next_look_does(
    gated_house: House, way: str, scope: OptOutScope
) -> None:
    """The note of the opt-out is there as soon as the opt-out is, also that of one sender."""
    house, db = gated_house, gated_house.db
    assert isinstance(db, GatedDatabase)
    line = Line(house, answers=False)
    line.number_has(opt_out_scope="account" if scope == WHOLE_ACCOUNT else "sender")
    with db.write() as tx:
        made = senders.register(
            tx, house.amina_id, SHORT_CODE, sandbox=False, now_ms=clock.now_ms()
        )
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    await house.cache.refresh()
    gate = db.close_gate()
    accepting = asyncio.create_task(house.send([PHONE, OTHER], sender=SHORT_CODE))
    await db.held.wait()
    db.gate = None
    if way == "STOP":
        async with db.hot() as hot:
            await record(hot, house.carrier_id, [written("STOP", 1)], clock.now_ms())
    else:
        with db.write() as tx:
            owner, now_ms = OptOutOwner(house.amina_id, False), clock.now_ms()
            suppress(tx, owner, [PHONE], source=OptOutSource.API, now_ms=now_ms, scope=scope)
    looking = asyncio.create_task(
        Advancer(db, Chunker(house.cache, house.queue), house.woken.append)._apply_opt_outs()
    )
    await asyncio.wait([looking], timeout=WAITS_S)
    assert not looking.done(), "it waits for who may not have seen the opt-out"
    gate.set()
    await asyncio.gather(accepting, looking)
    assert house.statuses() == ["failed/blocked", "queued"]
    assert house.count(opt_outs) == 0
    house.assert_sound()


@pytest.mark.parametrize("is_lifted", [False, True])
@awaited
async def test_the_note_of_one_sender_leaves_what_other_senders_have_queued(
    postgres_house: House, is_lifted: bool
) -> None:
    house = postgres_house
    campaign = Sent(house, 2, "hello")
    await campaign.looks(1, 0)
    [first, _] = phones(2)
    owner, now_ms = OptOutOwner(house.amina_id, False), clock.now_ms()
    scope = scope_of_sender(SENDER if is_lifted else "SALES")
    with house.db.write() as tx:
        suppress(tx, owner, [first], source=OptOutSource.API, now_ms=now_ms, scope=scope)
        if is_lifted:
            lift(tx, owner, [first], by=OptOutSource.API, now_ms=now_ms, scope=scope)
    assert house.count(opt_outs) == 1
    await campaign.look()
    assert house.statuses() == ["queued"] * 2
    assert house.count(opt_outs) == 0
    house.assert_sound()


@pytest.mark.parametrize("way", ["STOP", "an ordinary transaction"])
@awaited
async def test_who_has_looked_and_holds_no_wallet_yet_is_waited_for(
    gated_house: House, way: str
) -> None:
    """A batch of thousands looks for some 80 ms before it locks the wallet."""
    house = gated_house
    line = Line(house, answers=False)
    with psycopg.connect(house.db.url) as looks:
        looks.execute(f"{LOOKUPS_BEFORE_LOCK} SELECT 1")
        going = asyncio.create_task(
            line.says("STOP") if way == "STOP" else asyncio.to_thread(opt_out, house)
        )
        await asyncio.wait([going], timeout=WAITS_S)
        assert not going.done()
        assert line.out(), "the opt-out holds already"
    await going


def test_all_statements_that_look_before_they_lock_say_so() -> None:
    for statement in (_LOCK_AND_LOOK, _LOCK_WALLETS):
        assert statement.postgresql.sql.startswith(LOOKUPS_BEFORE_LOCK)


@pytest.mark.parametrize("way", ["STOP", "an ordinary transaction"])
@awaited
async def test_what_turns_take_of_a_run_each_time_it_is_looked_at_is_looked_at_again(
    gated_house: House, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who wins thrice is as good as somebody who wins once."""
    house = gated_house
    monkeypatch.setattr(sweep_of_opt_outs, "LOOKS_MAX", 1)
    line, db = Line(house, answers=False), house.db
    await house.send([*phones(3), PHONE])
    taking, gate = await held_turn(house)
    with psycopg.connect(db.url) as holder:  # between the opt-out and what comes after it
        holder.execute("SELECT FROM wallets FOR UPDATE")
        going = asyncio.create_task(
            line.says("STOP") if way == "STOP" else asyncio.to_thread(opt_out, house)
        )
        await asyncio.wait([going], timeout=WAITS_S)
        assert not going.done(), "it waits for the run"
        gate.set()
        await taking
        while not line.out():
            await asyncio.sleep(0)
        taking, gate = await held_turn(house)
    await asyncio.wait([going], timeout=WAITS_S)
    assert not going.done(), "it waits for the rest of the run"
    gate.set()
    await asyncio.gather(taking, going)
    assert house.statuses() == ["queued"] * 3 + ["failed/blocked"]
    house.assert_sound()


async def held_turn(house: House) -> tuple["asyncio.Task[object]", asyncio.Event]:
    """Begins a turn that takes one message of the run, and is about to be committed."""
    db = house.db
    assert isinstance(db, GatedDatabase)
    link = house.turn(window=1)
    gate = db.close_gate()
    taking = asyncio.create_task(link.turn.run_once())
    await db.held.wait()
    db.gate = None
    return taking, gate
