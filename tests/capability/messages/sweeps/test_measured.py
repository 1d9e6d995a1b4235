"""One process looks after everything, and shows of each carrier what waits, what is in doubt, and
what receipts found no message.
"""

import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY

from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.carriers.tables import carriers
from heliograph.database import config
from heliograph.database.leases import workers
from heliograph.messages.queue import metrics
from heliograph.messages.queue.rank import HELD_FROM_US, RESTORED_FROM_US
from heliograph.messages.sweeps.sweep import settle_doubts
from heliograph.messages.tables import carrier_refs, queue, unmatched_receipts
from heliograph.processes.sweeps import SCAN_EVERY_SWEEPS, Sweeps
from tests.support.capability.sending import WORKER, House, lease_of
from tests.support.factories import PHONE, awaited, phones

QUEUED, AGE, IN_DOUBT, UNMATCHED = (
    "heliograph_queue_messages",
    "heliograph_queue_age_seconds",
    "heliograph_in_doubt_messages",
    "heliograph_unmatched_receipts",
)


def shown(name: str, carrier: str = "carrier") -> float | None:
    return REGISTRY.get_sample_value(name, {"carrier": carrier})


def sweeps_of(house: House) -> Sweeps:
    return Sweeps(house.db, lease_of(house.db, WORKER), house.queue, {}, lambda carrier_ids: None)


async def until_measured(sweeps: Sweeps) -> None:
    for _ in range(SCAN_EVERY_SWEEPS):
        await sweeps.sweep()


async def unanswered(house: House, to: list[str]) -> None:
    link = await house.submitted(to, "x" * 400)  # three segments each
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()


@awaited
async def test_messages_in_doubt_are_counted_once_each_until_they_are_settled(house: House) -> None:
    await unanswered(house, phones(2))
    sweeps = sweeps_of(house)
    await until_measured(sweeps)
    assert (shown(IN_DOUBT), shown(QUEUED), shown(IN_DOUBT, "simulator")) == (2, 0, 0)
    clock.move(by_ms=86_400_000)
    await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=False)
    await until_measured(sweeps)
    assert shown(IN_DOUBT) == 0


@awaited
async def test_receipts_that_found_no_message_are_counted_of_both_kinds(house: House) -> None:
    now_ms = clock.now_ms()
    with house.db.write() as tx:
        tx.execute(
            carrier_refs.insert(),
            [
                {
                    "carrier_id": house.carrier_id,
                    "ref": f"aa{number}",
                    "receipt_state": "DELIVRD",
                    "created_at_ms": now_ms,
                }
                for number in range(4)
            ],
        )
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=house.carrier_id,
                ref="taken",
                message_id="a" * 32,
                parts=1,
                created_at_ms=now_ms,
            )
        )
        tx.execute(
            unmatched_receipts.insert().values(
                id="1" * 32, carrier_id=house.carrier_id, raw=b"?", received_at_ms=now_ms
            )
        )
        tx.execute(
            sa.update(carriers)
            .where(carriers.c.id == house.carrier_id)
            .values(settings='{"unmatched_max": 3}')
        )
    await until_measured(sweeps_of(house))
    assert (shown(UNMATCHED), shown(UNMATCHED, "simulator")) == (3, 0)


@awaited
@pytest.mark.parametrize(
    "by_us", [HELD_FROM_US, RESTORED_FROM_US], ids=["of a paused campaign", "of a restored copy"]
)
async def test_what_no_carrier_may_have_now_waits_for_none(house: House, by_us: int) -> None:
    await house.send(phones(2))
    with house.db.write() as tx:
        tx.execute(sa.update(queue).values(rank_us=queue.c.rank_us + by_us))
    clock.move(by_ms=5_000)
    await house.send(PHONE)
    clock.move(by_ms=1_000)
    await until_measured(sweeps_of(house))
    age_s = shown(AGE)
    assert shown(QUEUED) == 1
    assert age_s is not None
    assert 1 <= age_s < 4


@awaited
async def test_a_removed_carrier_and_a_process_that_no_longer_looks_show_nothing(
    house: House,
) -> None:
    await unanswered(house, phones(1))
    sweeps = sweeps_of(house)
    await until_measured(sweeps)
    with house.db.write() as tx:
        config.bump(tx)
        tx.execute(sa.delete(carriers).where(carriers.c.id == house.carrier_id))
    await until_measured(sweeps)
    names = (QUEUED, AGE, IN_DOUBT, UNMATCHED)
    assert [shown(name) for name in names] == [None] * 4
    assert [shown(name, "simulator") for name in names] == [0] * 4
    with house.db.write() as tx:
        tx.execute(
            workers.insert().values(
                epoch=WORKER - 1, kind="scheduler", started_at_ms=clock.now_ms()
            )
        )
    sweeps._lease.refresh()
    await sweeps.sweep()
    assert [shown(name, "simulator") for name in names] == [None] * 4


@awaited
async def test_no_more_segments_in_doubt_are_counted_than_the_bound(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "COUNTED_MAX", 4)
    await unanswered(house, phones(3))
    await until_measured(sweeps_of(house))
    assert shown(IN_DOUBT) == 2
