"""Carriers are kept in step with the configuration and swept, each for itself: one that drains or
fails holds up no other.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph import carriers
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest, Unavailable
from heliograph.base.settings import Settings
from heliograph.carriers import SIMULATOR_ID, LinkState, SubmitOutcome, carrier_states
from heliograph.carriers.manage import DOWN_MS
from heliograph.carriers.smpp import pdu
from heliograph.carriers.tables import carriers as carriers_table
from heliograph.database import config, migrate
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.tables import carrier_refs, inflight
from heliograph.processes import carriers as dispatching
from heliograph.processes import sweeps as sweeping
from heliograph.processes.carriers import Dispatch
from heliograph.processes.sweeps import Sweeps
from tests.support.capability.sending import WORKER, House, lease_of
from tests.support.factories import PHONE, SECRET_KEY, awaited, open_carrier, open_route, phones
from tests.support.polling import until
from tests.support.services.postgres import PrivatePostgres
from tests.support.wire.raw_carrier import RawCarrier, raw_carrier

LONDON = "447911123456"


def dispatch(house: House, worker: int = WORKER) -> Dispatch:
    return Dispatch(
        house.db,
        house.cache,
        Settings(Path(), house.db.url, SECRET_KEY),
        lease_of(house.db, worker),
        house.queue,
    )


def set_up(house: House, name: str, **settings: object) -> None:
    with house.db.write() as tx:
        carriers.set_carrier(tx, name, settings, secret_key=SECRET_KEY)


def leave_unmatched(house: House, carrier_id: int, recipient: int) -> None:
    """Stores a receipt of a state that nobody knows."""
    with house.db.write() as tx:
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=carrier_id,
                ref="aa1",
                receipt_state="NONE",
                recipient=recipient,
                created_at_ms=clock.now_ms(),
            )
        )


def state_of(house: House, carrier_id: int) -> str:
    with house.db.read() as tx:
        return str(
            tx.execute(
                sa.select(carriers_table.c.state).where(carriers_table.c.id == carrier_id)
            ).scalar_one()
        )


def window_of(of: Dispatch, carrier_id: int) -> int | None:
    running = of._running.get(carrier_id)
    return (
        running.connection.window
        if running is not None and running.connection is not None
        else None
    )


def epoch_of(house: House) -> int:
    with house.db.read() as tx:
        return config.epoch(tx)


@awaited
async def test_a_carrier_that_drains_holds_up_no_change_of_another(house: House) -> None:
    async with raw_carrier() as smsc:
        set_up(house, "carrier", port=smsc.port)
        await house.cache.refresh()
        carrier = dispatch(house)
        await carrier.start()
        await until(lambda: state_of(house, house.carrier_id) == "bound", "the carrier is bound")
        smsc.sessions[0].deaf = True  # its answer never comes: so it drains for as long as it may
        await house.send(PHONE)
        carrier.wake({house.carrier_id})
        await until(lambda: house.count(inflight) == 1, "it is submitted")
        await asyncio.to_thread(set_up, house, "carrier", window=5)
        await house.cache.refresh()
        await until(lambda: carrier._changes, "the carrier drains")
        second = await asyncio.to_thread(
            open_carrier, house.db, "second", port=smsc.port, prefix=None
        )
        await house.cache.refresh()
        await until(lambda: state_of(house, second) == "bound", "another one is bound", 5)
        assert house.carrier_id in carrier._changes
        # while it drains: seen when that is done
        await asyncio.to_thread(set_up, house, "carrier", window=7)
        await house.cache.refresh()
        await asyncio.sleep(2 * dispatching.WATCH_S)
        smsc.sessions[0].transport.abort()
        await until(
            lambda: (
                window_of(carrier, house.carrier_id) == 7
                and state_of(house, house.carrier_id) == "bound"
            ),
            "the carrier is bound by its newest settings",
        )
        assert house.count(inflight, inflight.c.state == "in_doubt") == 1
        await carrier.stop()
        assert len(smsc.sessions[-1].answers(pdu.UNBIND)) == 1


@awaited
async def test_a_process_that_stops_while_a_carrier_drains_hears_its_answers_and_unbinds(
    house: House,
) -> None:
    async with raw_carrier() as smsc:
        set_up(house, "carrier", port=smsc.port)
        await house.cache.refresh()
        carrier = dispatch(house)
        await carrier.start()
        await until(lambda: state_of(house, house.carrier_id) == "bound", "the carrier is bound")
        smsc.sessions[0].deaf = True
        await house.send(PHONE)
        carrier.wake({house.carrier_id})
        await until(lambda: house.count(inflight) == 1, "it is submitted")
        await asyncio.to_thread(set_up, house, "carrier", window=5)
        await house.cache.refresh()
        await until(lambda: carrier._changes, "the carrier drains")
        stopping = asyncio.create_task(carrier.stop())
        # it is canceled where it waits for the answer, and waits for it again
        await asyncio.sleep(0)
        smsc.sessions[0].say(pdu.encode_pdu(pdu.SUBMIT_SM | pdu.RESPONSE, 0, 2, b"7a\0"))
        smsc.sessions[0].deaf = False
        await stopping
        assert (house.statuses(), house.count(inflight)) == (["sent"], 0)
        assert len(smsc.sessions[0].answers(pdu.UNBIND)) == 1


@awaited
async def test_a_state_that_could_not_be_stored_is_stored_at_the_next_chance(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "AGAIN_S", 0.01)
    house.carrier_is_removed_from_routes()
    with house.db.write() as tx:
        # what it reports would be another chance
        carriers.remove_carrier(tx, "carrier", messages_waiting=0)
    carrier = dispatch(house)
    await carrier.start()
    await until(
        lambda: state_of(house, SIMULATOR_ID) == "bound" and not carrier._states, "it is bound"
    )
    house.db.writes_lost = 5
    carrier._running[SIMULATOR_ID].turn.on_state(LinkState.REFUSED, "wrong password")
    await until(lambda: state_of(house, SIMULATOR_ID) == "refused", "its state is stored")
    assert house.db.writes_lost == 0
    await carrier.stop()


@awaited
async def test_a_carrier_whose_sweep_fails_stops_no_others(house: House) -> None:
    second = open_carrier(house.db, "second", prefix="44")
    recipients = {house.carrier_id: int(PHONE), second: int(LONDON)}
    await house.send([PHONE, LONDON])
    for carrier_id in recipients:
        link = house.turn(carrier_id=carrier_id)
        await link.turn.run_once()
        link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
        await link.turn.run_once()
    carrier = dispatch(house)
    await carrier.start()
    ill = house.carrier_id  # swept before the other one: by name
    await asyncio.to_thread(leave_unmatched, house, ill, recipients[ill])
    await asyncio.to_thread(
        house.db.transact, lambda tx: carrier_states.remember_id_format(tx, ill, "as_is")
    )
    clock.move(by_ms=RESEND_AFTER_MS)
    await carrier._sweeps.sweep()
    assert (house.count(inflight, inflight.c.carrier_id == ill), house.count(inflight)) == (1, 1)
    await carrier.stop()


@awaited
@pytest.mark.parametrize("state", [LinkState.BACKING_OFF, LinkState.BOUND])
async def test_the_first_sweep_after_a_restart_tells_anew_what_is_down(
    house: House, state: LinkState
) -> None:
    """What the process before had told may have changed since, and it may not have told the last of
    it.
    """
    house.carrier_is(state)
    clock.move(by_ms=DOWN_MS)
    for _ in range(2):
        sweeps = Sweeps(
            house.db, lease_of(house.db, WORKER), house.queue, {}, lambda carrier_ids: None
        )
        before = epoch_of(house)
        await sweeps.sweep()
        assert epoch_of(house) == before + 1
        await sweeps.sweep()
        assert epoch_of(house) == before + 1


@pytest.mark.parametrize(("down_ms", "tells"), [(DOWN_MS - 1, 0), (DOWN_MS, 1)])
def test_a_carrier_that_comes_up_after_a_minute_gets_new_messages_at_once(
    database_url: str, down_ms: int, tells: int
) -> None:
    house = House(database_url)
    now_ms = clock.now_ms()
    with house.db.write() as tx:
        carrier_states.record(tx, WORKER, house.carrier_id, LinkState.BOUND, "", now_ms)
        carrier_states.record(tx, WORKER, house.carrier_id, LinkState.BACKING_OFF, "", now_ms)
    before = epoch_of(house)
    for _ in range(2):
        with house.db.write() as tx:
            carrier_states.record(
                tx, WORKER, house.carrier_id, LinkState.BOUND, "", now_ms + down_ms
            )
        assert epoch_of(house) == before + tells
    house.db.close()


@awaited
async def test_a_process_stops_in_time_though_its_database_is_away(
    private_postgres: PrivatePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "FINISH_S", 1.0)
    migrate.upgrade(private_postgres.url)
    house = House(private_postgres.url)
    async with raw_carrier() as smsc:
        set_up(house, "carrier", port=smsc.port)
        await house.cache.refresh()
        carrier = dispatch(house)
        await carrier.start()
        await until(lambda: state_of(house, house.carrier_id) == "bound", "the carrier is bound")
        smsc.sessions[0].deaf = True
        await house.send(phones(5))
        carrier.wake({house.carrier_id})
        await until(lambda: house.count(inflight) == 5, "all are submitted")
        await asyncio.to_thread(private_postgres.kill)
        smsc.sessions[0].transport.abort()
        started_s = time.monotonic()
        await carrier.stop()
        assert time.monotonic() - started_s < 15
    await asyncio.to_thread(private_postgres.start)
    await house.succeeded()
    assert house.count(inflight, inflight.c.state == "in_doubt") == 5
    await house.close()


@awaited
async def test_a_look_at_the_carriers_that_fails_ends_no_sweeping(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "SWEEP_S", 0.01)
    sweeps = Sweeps(house.db, lease_of(house.db, WORKER), house.queue, {}, house.woken.append)
    looks = 0

    def look_in_vain() -> list[carriers.Carrier]:
        nonlocal looks
        looks += 1
        raise Unavailable("The database is not reachable.")

    monkeypatch.setattr(sweeps, "_carriers", look_in_vain)
    running = asyncio.create_task(sweeps.run())
    async with asyncio.timeout(5):
        while looks < 3 and not running.done():
            await asyncio.sleep(0.01)
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def submitted(smsc: RawCarrier) -> int:
    return sum(
        frame.command == pdu.SUBMIT_SM for session in smsc.sessions for frame in session.heard
    )


async def told(house: House, change: Callable[[sa.Connection, str], object]) -> None:
    """Changes the house's carrier as an operator does, in another thread: whoever holds SQLite's
    lock may need this one.
    """
    await asyncio.to_thread(house.db.transact, lambda tx: change(tx, "carrier"))
    await house.cache.refresh()


@awaited
async def test_a_paused_carrier_keeps_its_bind_and_its_texts_wait_or_go_elsewhere(
    house: House,
) -> None:
    async with raw_carrier() as smsc, raw_carrier() as spare:
        set_up(house, "carrier", port=smsc.port)
        await house.cache.refresh()
        sending = dispatch(house)
        await sending.start()
        await until(lambda: state_of(house, house.carrier_id) == "bound", "the carrier is bound")
        try:
            await told(house, carriers.pause_carrier)
            await until(
                lambda: not sending._running[house.carrier_id].turn.claiming, "it is paused"
            )
            await house.send(phones(2))
            sending.wake({house.carrier_id})
            await asyncio.sleep(2 * dispatching.WATCH_S)
            assert (submitted(smsc), len(smsc.lost)) == (0, 0)
            await asyncio.to_thread(open_carrier, house.db, "spare", port=spare.port, prefix=None)
            await asyncio.to_thread(open_route, house.db, "carrier", "spare")
            await house.cache.refresh()
            await until(
                lambda: submitted(spare) == 2, "what waited is moved by the sweep of routes"
            )
            await house.send(phones(3))
            await until(lambda: submitted(spare) == 5, "new messages take the other route at once")
            await told(house, carriers.resume_carrier)
            await house.send(phones(1))
            await until(lambda: submitted(smsc) == 1, "the resumed carrier is given a message")
            assert (len(smsc.sessions), submitted(spare)) == (1, 5)
        finally:
            await sending.stop()


def test_the_simulator_is_never_paused(house: House) -> None:
    with house.db.write() as tx, pytest.raises(InvalidRequest, match="built in"):
        carriers.pause_carrier(tx, "simulator")
