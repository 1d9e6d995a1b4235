"""The proof of the roll-ups holds while they are what messages add up to, however these move, and
finds whatever figure is not.
"""

import importlib

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from heliograph.audit.rollups import verify_rollups
from heliograph.base import clock
from heliograph.base.paging import first_id_of
from heliograph.carriers import SubmitOutcome
from heliograph.messages.changes.rollups import MARKED_FOR_MS
from heliograph.messages.reports.count_rollups import (
    COUNTS,
    FEW,
    FINAL_AFTER_MS,
    MESSAGE_TAKES_MS,
    RESTS,
    RollupCounter,
    find_marked,
)
from heliograph.messages.retention.retention import MESSAGES, store_first_kept
from heliograph.messages.tables import rollup_marks, rollups
from tests.support.capability.campaigning import sent
from tests.support.capability.sending import House
from tests.support.factories import awaited
from tests.support.portal.rolled_up import count_all

FILLED_BY = importlib.import_module("heliograph.migrations.versions.0021_rollups")
LATE_MS = 4_000


async def moved_on(house: House) -> None:
    """Makes three texts: one is delivered after a while, one is refused and paid back, and one is
    queued.
    """
    await sent(house, people=3)
    link = house.turn()
    await link.turn.run_once()
    first, second, _ = link.open.values()
    clock.move(LATE_MS)
    link.receive(link.answer(first)[0], None)
    link.answer(second, outcome=SubmitOutcome.REFUSED, command_status=0x0B)
    await link.turn.run_once()


def stored(house: House) -> dict[str, int]:
    """Returns the sums of all counts that are not 0, once all that is marked was counted."""
    count_all(house.db)
    with house.db.read() as tx:
        sums = tx.execute(sa.select(*(sa.func.sum(rollups.c[name]) for name in COUNTS))).one()
    return {name: int(count) for name, count in zip(COUNTS, sums, strict=True) if count}


@awaited
async def test_a_message_counts_once_it_has_left_the_queue_as_what_became_of_it(
    house: House,
) -> None:
    await moved_on(house)
    assert stored(house) == {
        "segments": 2,
        "credits": 1,
        "delivered": 1,
        "failed": 1,
        "carrier_rejected": 1,
        "within_5_s": 1,
    }
    house.assert_sound()


@pytest.mark.parametrize("figure", ["delivered", "failed", "carrier_rejected", "credits", "later"])
@awaited
async def test_a_roll_up_that_is_not_what_its_messages_add_up_to_is_found(
    house: House, figure: str
) -> None:
    await moved_on(house)
    house.assert_sound()
    with house.db.write() as tx:
        is_ = tx.execute(sa.select(sa.func.sum(rollups.c[figure]))).scalar_one()
        tx.execute(sa.update(rollups).values({figure: rollups.c[figure] + 7}))
    with house.db.read() as tx:
        [(account_id, what)] = verify_rollups(tx, marked_too=True)
        assert verify_rollups(tx) == []  # it will be counted again
    assert account_id == house.amina_id
    assert what.endswith(f"says {figure} {is_ + 7} (its messages add up to {is_})")


@awaited
async def test_messages_without_roll_ups_are_found_unless_some_may_have_been_deleted(
    house: House,
) -> None:
    await moved_on(house)
    with house.db.write() as tx:
        tx.execute(sa.delete(rollup_marks))
    with house.db.read() as tx:
        [(_, what)] = verify_rollups(tx)
    assert "delivered 0 (its messages add up to 1)" in what
    async with house.db.hot() as hot:
        await store_first_kept(hot, MESSAGES, first_id_of(clock.now_ms() + 1))
    with house.db.read() as tx:
        assert verify_rollups(tx) == []


@awaited
async def test_the_migration_marks_what_is_stored_and_the_service_counts_it(house: House) -> None:
    await moved_on(house)
    before = stored(house)
    with house.db.write() as tx:
        tx.execute(sa.delete(rollups))
        tx.execute(sa.delete(rollup_marks))
        with Operations.context(MigrationContext.configure(tx)):
            FILLED_BY._mark_all()
    RollupCounter(house.db).count_due(clock.now_ms())
    with house.db.read() as tx:
        assert find_marked(tx) == []  # nothing can change any more that was marked so
        assert verify_rollups(tx) == []
    assert stored(house) == before


@awaited
async def test_a_mark_stays_until_all_that_relied_on_it_is_counted(house: House) -> None:
    await moved_on(house)
    now_ms = clock.now_ms()
    counter = RollupCounter(house.db)
    with house.db.read() as tx:
        found = find_marked(tx)  # two of them, if the test runs where one begins
    quarter = found[0]
    assert now_ms < quarter.until_ms <= now_ms + MARKED_FOR_MS
    counter.count_due(quarter.until_ms + FINAL_AFTER_MS)
    with house.db.read() as tx:
        assert [each.quarter_ms for each in find_marked(tx)] == [each.quarter_ms for each in found]
    counter.count_due(quarter.until_ms + 2 * FINAL_AFTER_MS)
    with house.db.read() as tx:
        assert find_marked(tx) == []
        assert verify_rollups(tx) == []


@awaited
async def test_what_changes_after_a_mark_has_ended_is_marked_anew(house: House) -> None:
    """A receipt comes an hour later: the mark of its message is long gone."""
    await sent(house, people=1)
    link = house.turn()
    await link.turn.run_once()
    [submission] = link.open.values()
    carrier_ref, _ = link.answer(submission), await link.turn.run_once()
    RollupCounter(house.db).count_due(clock.now_ms() + 2 * FINAL_AFTER_MS)
    clock.move(LATE_MS + MARKED_FOR_MS)
    link.receive(carrier_ref[0], None)
    await link.turn.run_once()
    assert stored(house)["delivered"] == 1
    house.assert_sound()


@awaited
async def test_a_quarter_of_many_messages_rests_before_it_is_counted_at_all(house: House) -> None:
    """A short load is over before anything is counted. A quarter of few messages never waits."""
    await sent(house, people=FEW + 1)
    link = house.turn()
    await link.turn.run_once()
    for submission in list(link.open.values()):
        link.answer(submission)
    await link.turn.run_once()
    rest_ms = round(RESTS * MESSAGE_TAKES_MS * (FEW + 1))
    counter, now_ms = RollupCounter(house.db), clock.now_ms()
    for later_ms, is_counted in ((0, False), (rest_ms - 1, False), (rest_ms, True)):
        counter.count_due(now_ms + later_ms)
        with house.db.read() as tx:
            assert bool(tx.execute(sa.select(rollups)).all()) is is_counted, later_ms
